"""
How events lie in SQLite: the tables, and the connections that fill them.

- The position of an event is a declared AUTOINCREMENT rowid, so that no event ever gets a number twice.
- `synchronous=NORMAL`: a process crash loses nothing, a power cut may lose the last commits.
- Writers begin IMMEDIATE, so that two of them wait for each other instead of failing at once.
- Each row carries a keyed hash of the row before it and of itself.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eventsourcing import persistence
from eventsourcing.sqlite import (
    SQLiteAggregateRecorder,
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteFactory,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eventsourcing.persistence import StoredEvent
    from eventsourcing.utils import Environment

LOCK_TIMEOUT_S = 5
"""Another process writes for milliseconds; five seconds of waiting mean that something is wrong."""

CHAIN_BYTES = 16

EVENTS_TABLE = "stored_events"

_CREATE_EVENTS = f"""
CREATE TABLE IF NOT EXISTS {EVENTS_TABLE} (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    originator_id TEXT NOT NULL,
    originator_version INTEGER NOT NULL,
    topic TEXT NOT NULL,
    state BLOB NOT NULL,
    chain BLOB NOT NULL,
    UNIQUE (originator_id, originator_version)
)"""

_INSERT_EVENT = (
    f"INSERT INTO {EVENTS_TABLE} (originator_id, originator_version, topic, state, chain) VALUES (?,?,?,?,?)"
)

_LAST_CHAIN = f"SELECT chain FROM {EVENTS_TABLE} ORDER BY rowid DESC LIMIT 1"


# Statements stay prepared; the driver's own commit() prepares one each time.
_BEGIN_WRITING = "BEGIN IMMEDIATE"
_COMMIT = "COMMIT"


def chain_link(key: bytes, previous: bytes, row: tuple[str, int, str, bytes]) -> bytes:
    """
    Return the keyed hash of a row and of the link before it.

    Args:
        key: the home's secret.
        previous: the link of the row before, empty for the first.
        row: originator id (hex), version, topic, state.

    """
    originator_id, version, topic, state = row
    link = hashlib.blake2b(previous, key=key, digest_size=CHAIN_BYTES)
    link.update(f"\0{originator_id}\0{version}\0{topic}\0".encode())
    link.update(state)
    return link.digest()


class _Connection(SQLiteConnection):
    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[SQLiteCursor]:
        connection = self._sqlite_conn
        try:
            connection.execute(_BEGIN_WRITING if commit else "BEGIN")
            try:
                with self.cursor() as cursor:
                    yield SQLiteCursor(cursor)
                connection.execute(_COMMIT if commit else "ROLLBACK")
            except BaseException:
                connection.rollback()
                raise
        except sqlite3.Error as error:
            raise _library_error(error) from error


def _connect(path: str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(
            path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    except sqlite3.Error as error:
        raise _library_error(error) from error
    connection.row_factory = sqlite3.Row
    return connection


class _ConnectionPool(SQLiteConnectionPool):
    def _create_connection(self) -> SQLiteConnection:
        # By hand: the library's connections keep one single statement prepared.
        return _Connection(_connect(self.db_name), max_age=self.max_age)


def _library_error(error: sqlite3.Error) -> persistence.PersistenceError:
    """Return the driver's error as the library's, which has the same name."""
    kind = getattr(persistence, type(error).__name__, persistence.PersistenceError)
    return kind(error)


class _Datastore(SQLiteDatastore):
    """A file's connections: a pool to read by, and one to write by, which is never given back."""

    def __init__(self, db_name: str) -> None:
        self._writer: sqlite3.Connection | None = None
        self.writing = Lock()
        super().__init__(db_name, lock_timeout=LOCK_TIMEOUT_S)
        self.pool.close()
        self.pool = _ConnectionPool(db_name=db_name, lock_timeout=LOCK_TIMEOUT_S)

    @property
    def writer(self) -> sqlite3.Connection:
        """The connection to write by, under the lock `writing`; the pool asks three locks for each loan."""
        if self._writer is None:
            self._writer = _connect(self.pool.db_name)
        return self._writer

    def close(self) -> None:
        """Let go of all connections."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        super().close()


class ChainedRecorder(SQLiteApplicationRecorder):
    """Records events in the table above; `key` makes the chain's links."""

    datastore: _Datastore

    def __init__(
        self, datastore: _Datastore, events_table_name: str = EVENTS_TABLE, key: bytes = b""
    ) -> None:
        super().__init__(datastore, events_table_name)
        self.key = key

    def construct_create_table_statements(self) -> list[str]:
        """Return what creates the events table."""
        return [_CREATE_EVENTS]

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int]:
        """Insert events in one transaction, without the library's nested contexts: a fifth of its time."""
        try:
            with self.datastore.writing:
                return self._write(self.datastore.writer, stored_events)
        except sqlite3.Error as error:
            raise _library_error(error) from error

    def _write(self, connection: sqlite3.Connection, stored_events: Sequence[StoredEvent]) -> list[int]:
        connection.execute(_BEGIN_WRITING)
        try:
            last = connection.execute(_LAST_CHAIN).fetchone()
            link: bytes = last[0] if last else b""
            positions = []
            for stored in stored_events:
                originator = stored.originator_id
                name = originator.hex if isinstance(originator, UUID) else originator
                row = (name, stored.originator_version, stored.topic, stored.state)
                link = chain_link(self.key, link, row)
                # The driver types it None as well, for statements that insert nothing.
                positions.append(connection.execute(_INSERT_EVENT, (*row, link)).lastrowid or 0)
            connection.execute(_COMMIT)
        except BaseException:
            connection.rollback()
            raise
        return positions


class NewestSnapshotRecorder(SQLiteAggregateRecorder):
    """Keeps one snapshot per stream: the newest is the only one that is ever asked for."""

    def __init__(self, datastore: SQLiteDatastore, events_table_name: str) -> None:
        super().__init__(datastore, events_table_name)
        self.insert_events_statement = f"INSERT OR REPLACE INTO {events_table_name} VALUES (?,?,?,?)"

    def construct_create_table_statements(self) -> list[str]:
        """Return what creates the snapshots table."""
        return [
            f"""CREATE TABLE IF NOT EXISTS {self.events_table_name} (
                originator_id TEXT PRIMARY KEY,
                originator_version INTEGER,
                topic TEXT,
                state BLOB
            ) WITHOUT ROWID"""
        ]


class RecorderFactory(SQLiteFactory):
    """
    Makes the recorders of one store file.

    Args:
        env: the library's configuration.
        path: the file.
        key: the home's secret, for the chain.
        state_version: of snapshots; those of another shape lie in another table and are passed over.

    """

    datastore: _Datastore

    def __init__(self, env: Environment, path: Path, key: bytes, state_version: int) -> None:
        super().__init__(env)
        self.datastore.close()
        self.datastore = _Datastore(str(path))
        self._key = key
        self._state_version = state_version

    def application_recorder(self) -> ChainedRecorder:
        """Return the recorder of events."""
        recorder = ChainedRecorder(self.datastore, key=self._key)
        recorder.create_table()
        return recorder

    def aggregate_recorder(self, purpose: str = "events") -> SQLiteAggregateRecorder:
        """Return the recorder of snapshots."""
        recorder = NewestSnapshotRecorder(self.datastore, f"stored_{purpose}_{self._state_version}")
        recorder.create_table()
        return recorder
