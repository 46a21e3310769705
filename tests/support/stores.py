"""Store files for projection tests: real events through the real store, odd rows straight into its table."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.scheduler.store import EventStore, chain_link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eventsourcing.domain import Aggregate, AggregateEvent

    from tokeneconomizer.projections.event_rows import FoldedRow

KEY = b"a key for tests"
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
STREAM = "a" * 32


@dataclass(frozen=True)
class Row:
    """A row of the store; `state` stands in for the event's JSON where that is to be odd."""

    topic: str
    fields: Mapping[str, object] = field(default_factory=dict)
    stream: str = STREAM
    version: int = 0
    at: datetime = NOON
    state: bytes | None = None

    def stored_state(self) -> bytes:
        if self.state is not None:
            return self.state
        return orjson.dumps({"timestamp": self.at.isoformat(), **self.fields})


def topic_of(event: AggregateEvent) -> str:
    """The topic that is stored with the event."""
    return str(vars(type(event))["TOPIC"])


def row_of(event: AggregateEvent) -> Row:
    """The row of an event that was triggered, not saved."""
    common = {"originator_id", "originator_version", "timestamp"}
    fields = {name: value for name, value in vars(event).items() if name not in common}
    return Row(topic_of(event), fields, event.originator_id.hex, event.originator_version, event.timestamp)


@cache
def _empty_store() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.db"
        EventStore(path, KEY).close()
        return path.read_bytes()


def make_store(path: Path, rows: Iterable[Row] = ()) -> Path:
    path.write_bytes(_empty_store())
    add_rows(path, rows)
    return path


def add_rows(path: Path, rows: Iterable[Row]) -> None:
    """Append rows; a version of 0 becomes the next one of its stream."""
    connection = sqlite3.connect(path)
    with connection:
        for row in rows:
            version = row.version or _next_version(connection, row.stream)
            values = (row.stream, version, row.topic, row.stored_state())
            link = chain_link(KEY, _last_link(connection), values)
            connection.execute(
                "INSERT INTO stored_events (originator_id, originator_version, topic, state, chain) "
                "VALUES (?, ?, ?, ?, ?)",
                (*values, link),
            )
    connection.close()


def _next_version(connection: sqlite3.Connection, stream: str) -> int:
    found = connection.execute(
        "SELECT coalesce(max(originator_version), 0) + 1 FROM stored_events WHERE originator_id = ?",
        (stream,),
    )
    return int(found.fetchone()[0])


def _last_link(connection: sqlite3.Connection) -> bytes:
    found = connection.execute("SELECT chain FROM stored_events ORDER BY rowid DESC LIMIT 1").fetchone()
    return bytes(found[0]) if found else b""


def save(path: Path, *aggregates: Aggregate) -> None:
    """Save aggregates as the program does."""
    store = EventStore(path, KEY)
    for aggregate in aggregates:
        store.save(aggregate)
    store.close()


def numbered(count: int, *, poisoned: Sequence[int] = ()) -> list[Row]:
    """Rows numbered from 1; a `Tally` cannot take the poisoned ones."""
    return [
        Row("test.poison" if number in poisoned else "test.numbered", at=NOON + timedelta(seconds=number))
        for number in range(1, count + 1)
    ]


@dataclass
class Tally:
    """A projection that shows by its rows which events it took, how often, and in which order."""

    SCHEMA: int = 1
    NAME: str = "tally"
    CREATE: Sequence[str] = ("CREATE TABLE seen (position INTEGER, topic TEXT)",)
    INDEXES: Sequence[str] = ("CREATE INDEX seen_topics ON seen (topic)",)
    DECODED: frozenset[str] | None = None
    before_row: Callable[[FoldedRow], None] = lambda _: None

    def fold(self, connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
        for row in rows:
            self.before_row(row)
            connection.execute("INSERT INTO seen VALUES (?, ?)", (row.position, row.topic))
            if row.topic == "test.poison":
                message = "cannot take this"
                raise ValueError(message)


def seen(connection: sqlite3.Connection) -> list[int]:
    """What a `Tally` has taken, in that order."""
    return [position for (position,) in connection.execute("SELECT position FROM seen ORDER BY rowid")]


def all_rows(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """All rows of all tables."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        table: sorted(repr(tuple(row)) for row in connection.execute(f'SELECT * FROM "{table}"'))
        for (table,) in tables
    }
