"""
What green turns take, per repository and agent: counted from watched and imported turns alike.

Only counts of counts are kept, which come to the same in whatever order turns are folded: history is imported
late, and spooled events come late.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.guard.envelope import USUAL_SHARE, Envelope
from tokeneconomizer.projections.event_rows import EventHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow

NAME = "envelope"

SCHEMA = 1

CREATE = (
    # `machine_turn` is the newest turn that no person asked for: it tells nothing of what a task takes.
    """CREATE TABLE streams (
        stream_id TEXT PRIMARY KEY,
        repository TEXT NOT NULL,
        host TEXT NOT NULL,
        machine_turn INTEGER NOT NULL
    ) WITHOUT ROWID""",
    # How many green turns took exactly so much.
    """CREATE TABLE taken (
        repository TEXT NOT NULL,
        host TEXT NOT NULL,
        measure TEXT NOT NULL,
        value INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        PRIMARY KEY (repository, host, measure, value)
    ) WITHOUT ROWID""",
    # Made from the counts with each batch that adds to them, so that the daemon reads a row and no more.
    """CREATE TABLE envelopes (
        repository TEXT NOT NULL,
        host TEXT NOT NULL,
        green_turns INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        edits INTEGER NOT NULL,
        minutes INTEGER NOT NULL,
        PRIMARY KEY (repository, host)
    ) WITHOUT ROWID""",
)

INDEXES = ()

DECODED = frozenset({"session.started", "session.prompt_submitted", "session.turn_ended"})

MEASURES = ("calls", "failures", "edits", "minutes")

MS_PER_MINUTE = 60_000

_OPEN = "INSERT OR REPLACE INTO streams VALUES (?, ?, ?, 0)"
_MACHINE = "UPDATE streams SET machine_turn = ? WHERE stream_id = ?"
_FIND = "SELECT repository, host, machine_turn FROM streams WHERE stream_id = ?"
_ADD = "INSERT INTO taken VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET turns = turns + excluded.turns"
_TAKEN = "SELECT value, turns FROM taken WHERE repository = ? AND host = ? AND measure = ? ORDER BY value"
_KEEP = "INSERT OR REPLACE INTO envelopes VALUES (?, ?, ?, ?, ?, ?, ?)"

Taken = Counter[tuple[str, str, str, int]]


class Place(NamedTuple):
    """A repository with an agent."""

    repository: str
    host: str


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in any order of streams."""
    taken: Taken = Counter()
    for row in rows:
        if isinstance(row, EventHead):
            continue
        if row.topic == "session.started":
            about = (row.stream_id, str(row.data["repository"]), str(row.data["host"]))
            connection.execute(_OPEN, about)
        elif row.topic == "session.prompt_submitted":
            if row.data["kind"] == "machine":
                connection.execute(_MACHINE, (_number(row, "turn"), row.stream_id))
        elif row.data["outcome"] == "green":
            _count(connection, row, taken)
    connection.executemany(_ADD, [(*what, turns) for what, turns in taken.items()])
    for place in sorted({Place(*what[:2]) for what in taken}):
        connection.execute(_KEEP, (*place, *astuple(_envelope(connection, place))))


def envelopes(connection: sqlite3.Connection) -> dict[Place, Envelope]:
    """Return what is known of each repository and agent."""
    rows = map(tuple, connection.execute("SELECT * FROM envelopes"))
    return {Place(*row[:2]): Envelope(*row[2:]) for row in rows}


def _count(connection: sqlite3.Connection, row: EventRow, taken: Taken) -> None:
    found = connection.execute(_FIND, (row.stream_id,)).fetchone()
    if found is None:
        # Its session's first event could not be read, and is told as such.
        return
    repository, host, machine_turn = found
    if _number(row, "turn") == machine_turn:
        return
    values = (
        *(_number(row, name) for name in MEASURES[:-1]),
        ceil(_number(row, "duration_ms") / MS_PER_MINUTE),
    )
    taken.update((repository, host, measure, value) for measure, value in zip(MEASURES, values, strict=True))


def _envelope(connection: sqlite3.Connection, place: Place) -> Envelope:
    counts = [connection.execute(_TAKEN, (*place, measure)).fetchall() for measure in MEASURES]
    green_turns = sum(turns for _, turns in counts[0])
    return Envelope(green_turns, *(_usual(map(tuple, each), green_turns) for each in counts))


def _usual(counts: Iterator[tuple[int, int]], all_turns: int) -> int:
    """Return the smallest value that the usual share of turns stays within."""
    wanted, so_far = USUAL_SHARE * all_turns, 0
    for value, turns in counts:
        so_far += turns
        if so_far >= wanted:
            return value
    return 0


def _number(row: EventRow, name: str) -> int:
    value = row.data[name]
    if not isinstance(value, int):
        message = f"{name} is {value!r}, no whole number"
        raise TypeError(message)
    return value
