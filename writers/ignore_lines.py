"""The format of `.git/info/exclude`: patterns, one a line."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from tokeneconomizer.writers.edits import AddElement, Document, Edit, RemoveElement, RemoveEmpty
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.splices import Splice

PATTERNS: Final = ("patterns",)
"""The path of the one list in the document."""


_WILD: Final = re.compile(r"[\\*?\[]")


def pattern_of(file: PurePath) -> str:
    """Give the pattern for one file, by its way from the top of the checkout."""
    return "/" + _WILD.sub(lambda sign: f"\\{sign.group()}", file.as_posix())


class IgnoreLines:
    """Patterns are elements of a list; a line is added at the end and taken away whole."""

    def parse(self, text: str) -> Document:
        """Give all lines, comments among them."""
        lines = text.split("\n")
        return {PATTERNS[0]: [*lines[:-1], *filter(None, lines[-1:])]}

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        """Give the splices that make the edits."""
        splices: list[Splice] = []
        for edit in edits:
            splice = _splice(text, edit)
            if splice is not None:
                splices.append(splice)
                text = splice.make(text)
        return tuple(splices)

    def proves(self, value: Document, wanted: Document, edits: Sequence[Edit]) -> bool:  # noqa: ARG002 - as told
        """Compare; the order counts, since a later pattern rules an earlier one."""
        return value == wanted

    def is_empty(self, text: str) -> bool:
        """Tell whether nothing is left in the text."""
        return not text.strip()


def _splice(text: str, edit: Edit) -> Splice | None:
    match edit:
        case AddElement(_, str(pattern)):
            if pattern in text.split("\n"):
                return None
            gap = "" if not text or text.endswith("\n") else "\n"
            return Splice(len(text), "", f"{gap}{pattern}\n")
        case RemoveElement(_, str(pattern)):
            lines = text.split("\n")
            if pattern not in lines:
                return None
            index = len(lines) - 1 - lines[::-1].index(pattern)
            start = len("\n".join([*lines[:index], ""])) if index else 0
            return Splice(start, text[start : start + len(pattern) + 1], "")
        case RemoveEmpty():
            return None
        case _:
            message = "only lines are added and taken away"
            raise WriteRefused(Reason.UNPROVEN_EDIT, message)
