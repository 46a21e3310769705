"""
JSON with comments and a comma behind the last entry of a container, as some agents read their own files.

Both are blanked out to spaces of the same length, so that the rest is strict JSON at the same offsets.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.deny_list import Document

# Runs are possessive, so that a long unclosed string or comment is given up in one pass; groups are not, for
# before Python 3.11.5 a possessive group with alternatives in it may not match what it should.
_STRING = r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*"'
_STRING_OR_COMMENT = re.compile(_STRING + r"|(//[^\r\n]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)")
_STRING_OR_LAST_COMMA = re.compile(_STRING + r'|(?<=["\w}\]])[ \t\r\n]*+(,)(?=[ \t\r\n]*+[}\]])')
_VISIBLE = re.compile(r"[^\r\n]")


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


def document_of(data: bytes) -> Document | None:
    """Return the object that a file holds; None of what is none."""
    try:
        value = json.loads(strict(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
