"""
The format of Copilot's own files: JSON with comments and a comma behind the last entry of a container.

An edit that would touch a comment is refused: what the user wrote beside a value is not ours to move.
"""

import json
from collections.abc import Sequence
from typing import Final

from tokeneconomizer.domain.commented_json import strict
from tokeneconomizer.writers.edits import Document, Edit
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_edits import is_blank
from tokeneconomizer.writers.splices import Splice
from tokeneconomizer.writers.strict_json import STRICT_JSON


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


JSON_WITH_COMMENTS: Final = JsonWithComments()
"""Has no state, so one is enough."""
