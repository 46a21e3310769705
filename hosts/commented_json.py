"""JSON with comments and commas too many, as some agents read their own files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.deny_list import Document

_TEXT = r'("(?:[^"\\]|\\.)*+")'
_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA_TOO_MANY = re.compile(_TEXT + r"|,(?=\s*[\]}])", re.DOTALL)


def document_of(data: bytes) -> Document | None:
    """Return the object that a file holds; None of what is none."""
    try:
        text = data.decode("utf-8-sig")
        for superfluous in (_COMMENT, _COMMA_TOO_MANY):
            text = superfluous.sub(lambda found: found[1] or "", text)
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
