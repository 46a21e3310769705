"""Lines decoded by their types alone; a field of another type costs itself, not its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Line = TypeVar("Line")


def decode_line(
    decoder: msgspec.json.Decoder[Line], raw: bytes, read: Callable[[Mapping[str, object]], Line]
) -> Line:
    """
    Return what a line holds.

    Args:
        decoder: of the types that are expected.
        raw: the line.
        read: makes the same of an object, where a field of another type reads as absent.

    Raises:
        msgspec.DecodeError, orjson.JSONDecodeError: when the line is damaged.

    """
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        line = orjson.loads(raw)
    if not isinstance(line, dict):
        message = "a line is one object"
        raise msgspec.DecodeError(message)
    return read(line)
