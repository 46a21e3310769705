"""Finding where a damaged store can be read again, in some dozen looks however long the damage is."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def end_of_damage(after: int, last: int, can_read_behind: Callable[[int], bool]) -> int | None:
    """
    Return the smallest position behind which a row can be read again, or None.

    Args:
        after: a position behind which none can be read.
        last: the newest position that was given to an event.
        can_read_behind: whether the row behind a position can be read.

    """
    unreadable, step = after, 1
    while True:
        readable = min(after + step, last - 1)
        if readable <= unreadable:
            return None
        if can_read_behind(readable):
            break
        unreadable, step = readable, step * 2
    while readable - unreadable > 1:
        middle = (readable + unreadable) // 2
        if can_read_behind(middle):
            readable = middle
        else:
            unreadable = middle
    return readable


def first_number(connection: sqlite3.Connection, *statements: str) -> int:
    """Return the number that the first statement gives which can be run; 0 when none can."""
    for statement in statements:
        try:
            return number(connection, statement)
        except sqlite3.DatabaseError:
            continue
    return 0


def number(connection: sqlite3.Connection, statement: str) -> int:
    """Return the number that a statement gives; 0 when it gives no row."""
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0
