"""
The format of Copilot's own files: JSON with comments and a comma behind the last entry of a container.

Both are blanked out to spaces of the same length, so that the rest is strict JSON at the same offsets. An
edit that would touch a comment is refused: what the user wrote beside a value is not ours to move.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from tokeneconomizer.writers.edits import Document, Edit
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_edits import is_blank
from tokeneconomizer.writers.splices import Splice
from tokeneconomizer.writers.strict_json import STRICT_JSON

# Possessive, so that a long unclosed string or comment is given up in one pass.
_STRING: Final = r'"(?:[^"\\\r\n]|\\.)*+"'
_STRING_OR_COMMENT: Final = re.compile(_STRING + r"|(//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)")
_STRING_OR_LAST_COMMA: Final = re.compile(_STRING + r'|(?<=["\w}\]])[ \t\r\n]*+(,)(?=[ \t\r\n]*+[}\]])')
_VISIBLE: Final = re.compile(r"[^\r\n]")


class JsonWithComments:
    """Reads and edits as strict JSON does, around comments."""

    def parse(self, text: str) -> Document:
        """Give the document's value; an empty file is an empty document."""
        return STRICT_JSON.parse(strict(text))

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        """Give the splices that make the edits."""
        splices = STRICT_JSON.edit(strict(text), edits)
        for splice in splices:
            if not text.startswith(splice.removed, splice.offset):
                message = "a comment stands in what would be replaced"
                raise WriteRefused(Reason.UNPROVEN_EDIT, message)
            text = splice.make(text)
        return splices

    def proves(self, value: Document, wanted: Document, edits: Sequence[Edit]) -> bool:  # noqa: ARG002 - as told
        """Compare in the form of text, as for strict JSON."""
        return json.dumps(value) == json.dumps(wanted)

    def is_empty(self, text: str) -> bool:
        """Tell whether nothing is left in the text; a comment is something."""
        return strict(text) == text and (is_blank(text) or STRICT_JSON.is_empty(text))


def strict(text: str) -> str:
    """Give the text with all that strict JSON has not as spaces; lines stay where they are."""
    without_comments = _STRING_OR_COMMENT.sub(_blanked, text)
    return _STRING_OR_LAST_COMMA.sub(_blanked, without_comments)


def _blanked(found: re.Match[str]) -> str:
    whole = found.group()
    if found.group(1) is None:
        return whole
    begin, end = found.start(1) - found.start(), found.end(1) - found.start()
    return whole[:begin] + _VISIBLE.sub(" ", whole[begin:end]) + whole[end:]


JSON_WITH_COMMENTS: Final = JsonWithComments()
"""Has no state, so one is enough."""
