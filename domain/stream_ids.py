"""
Which streams hold imported history: told by the id, so that no projection has to look into another row.

A module of its own, because views are read without the event library.
"""

from __future__ import annotations

from uuid import UUID

_VERSION_SHIFT = 76
"""A UUID's version is its hexadecimal digit 12, counted from 0: these bits of its number."""

_VERSION_DIGIT = 12

_CUSTOM_VERSION = 8
"""Of UUIDs whose meaning is their maker's; the streams of watched sessions have version 5."""


def imported(stream_id: UUID) -> UUID:
    """Return the id that marks a stream as imported history."""
    number = stream_id.int & ~(0xF << _VERSION_SHIFT)
    return UUID(int=number | _CUSTOM_VERSION << _VERSION_SHIFT)


def is_imported(stream_id: str) -> bool:
    """Return whether a stream, named by its 32 hexadecimal digits, holds imported history."""
    return stream_id[_VERSION_DIGIT] == str(_CUSTOM_VERSION)
