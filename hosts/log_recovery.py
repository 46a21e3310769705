"""
Whole JSON objects within a damaged line: after a cut, before a splice, between NUL bytes.

An object with bytes in it that are no text is lost: two halves of different lines may meet there. A lone
surrogate is no damage: some agents write one when they cut a text between its halves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCANNED_CHARACTERS_MAX = 268_435_456
"""Of one line in search of objects, four times the longest: two seconds, also for one made to be slow."""

COUNTED_PER_SCANNED = 16
"""An error counts the lines before its place: that is faster than scanning by so much, and not free."""

_SPACE = " \t\r\n\0\ufeff"
_REPLACED = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Found:
    """
    What a damaged line holds.

    Attributes:
        objects: as valid JSON each, in their order.
        starts: for each, the character at which it begins.
        is_whole: the line is one object, and nothing of it is lost but halves of characters.

    """

    objects: list[bytes]
    starts: list[int]
    is_whole: bool


def objects_in(raw: bytes, is_record: Callable[[Mapping[str, object]], bool]) -> Found:
    """Return the whole records in a line that cannot be decoded as it stands."""
    text = raw.decode("utf-8", "replace")
    objects: list[bytes] = []
    starts: list[int] = []
    position, budget, lost, others = 0, SCANNED_CHARACTERS_MAX, _REPLACED in text, 0
    while budget > 0 and (start := text.find("{", position)) >= 0:
        lost = lost or bool(text[position:start].strip(_SPACE)) or "\0" in text[position:start]
        found, end, scanned = _object_at(text, start)
        budget -= scanned
        if found is None:
            lost, position = True, start + 1
            continue
        position = end
        valid = b"" if _REPLACED in text[start:end] else _valid(found)
        lost = lost or not valid
        if valid and is_record(found):
            objects.append(valid)
            starts.append(start)
        else:
            others += 1
    is_whole = not lost and len(objects) + others == 1 and not text[position:].strip(_SPACE)
    return Found(objects, starts, is_whole)


def _object_at(text: str, start: int) -> tuple[dict[str, object] | None, int, int]:
    """Return the object that begins here, where it ends, and how many characters were looked at."""
    try:
        found, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return None, start, 1 + error.pos - start + error.pos // COUNTED_PER_SCANNED
    except (ValueError, RecursionError):
        return None, start, len(text) - start
    return (found if isinstance(found, dict) else None), end, end - start


def _refuse(constant: str) -> object:
    message = f"{constant} is no JSON"
    raise ValueError(message)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _valid(found: dict[str, object]) -> bytes:
    """Write an object down again, with a question mark for each half of a character."""
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
    except (ValueError, RecursionError):
        return b""
