"""The format of Claude Code's and Copilot's settings: strict JSON, since those agents ignore any other."""

import json
from collections.abc import Sequence
from typing import Final

from tokeneconomizer.writers.edits import Document, Edit
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_edits import is_blank, plan
from tokeneconomizer.writers.json_spans import body_start, scan
from tokeneconomizer.writers.splices import Splice


class StrictJson:
    """Reads with Python's `json`, and edits by spans: the one proves the other."""

    def parse(self, text: str) -> Document:
        """Give the document's value; an empty file is an empty document."""
        if is_blank(text):
            return {}
        scan(text)
        value = json.loads(text[body_start(text) :])
        if not isinstance(value, dict):
            message = "the document is not an object"
            raise WriteRefused(Reason.NOT_PARSABLE, message)
        return value

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        """Give the splices that make the edits."""
        return plan(text, edits)

    def proves(self, value: Document, wanted: Document, edits: Sequence[Edit]) -> bool:  # noqa: ARG002 - as told
        """Compare in the form of text: that also tells 1 from 1.0 and true, and sees the order of keys."""
        return json.dumps(value) == json.dumps(wanted)

    def is_empty(self, text: str) -> bool:
        """Tell whether nothing is left in the text."""
        return not self.parse(text)


STRICT_JSON: Final = StrictJson()
"""Has no state, so one is enough."""
