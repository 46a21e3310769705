"""
opencode's database (1.2 and newer), read beside the running agent.

A session's messages are read in opencode's own order, each once, when it is complete; the cursor holds how
far each session was read. So another database in its place, a session that is imported later, one that is
deleted: all of them only change what is still to read. `line` is the message's row in its table.
"""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.opencode.log_marks import database_mark
from tokeneconomizer.hosts.opencode.log_messages import (
    Message,
    Session,
    Times,
    message_from,
    object_from,
    settled,
)
from tokeneconomizer.hosts.opencode.log_records import Part, SessionReader
from tokeneconomizer.hosts.records import SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import State
    from tokeneconomizer.hosts.records import Record

WAIT_SECONDS = 0.5
"""For a writer that holds the whole database, in WAL mode only for moments: the next reading comes."""

BATCH_RECORDS = 2_000
"""Bounds memory; a call's output has up to 50 KB, so a batch has at most some 100 MB and mostly a few."""

_BEFORE_ALL = (-(2**63), "")

# Columns are cast, and not null: damage can make any of them anything.
_SESSIONS = (
    "SELECT coalesce(CAST(id AS TEXT), ''), CAST(parent_id AS TEXT), CAST(directory AS TEXT),"
    " CAST(version AS TEXT), CAST(time_created AS INTEGER) FROM session ORDER BY time_created, id"
)
_FIRST_CREATED = "SELECT coalesce(CAST(min(time_created) AS INTEGER), 0) FROM message WHERE session_id = ?"
_MESSAGES = (
    "SELECT rowid, coalesce(CAST(id AS TEXT), ''), coalesce(CAST(time_created AS INTEGER), 0),"
    " coalesce(CAST(data AS BLOB), X'') FROM message"
    " WHERE session_id = ? AND (time_created, id) > (?, ?) ORDER BY time_created, id"
)
_PARTS = "SELECT coalesce(CAST(data AS BLOB), X'') FROM part WHERE message_id = ? ORDER BY id"

_FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged database raises; the second where its own table of columns is damaged."""

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class _ChangedMeanwhileError(Exception):
    """The agent began to write into what was read as a file that nobody has open."""


def session_ids(path: str) -> set[str]:
    """Return the sessions that a database holds; none where it cannot be read."""
    try:
        connection = _connect(path, is_at_rest=_is_at_rest(path))
    except OSError:
        return set()
    try:
        return {str(row[0]) for row in connection.execute("SELECT id FROM session")}
    except _FAILURES:
        return set()
    finally:
        connection.close()


def read(path: str, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new; see `hosts.log_format.LogFormat.read`."""
    if cursor is not None and cursor.tail == database_mark(path):
        yield Batch([], cursor)
        return
    try:
        for batch in _Reading(path, cursor, wanted, is_at_rest=_is_at_rest(path)).batches():
            cursor = batch.cursor
            yield batch
    except _ChangedMeanwhileError:
        yield from _Reading(path, cursor, wanted, is_at_rest=False).batches()


def _is_at_rest(path: str) -> bool:
    """Return whether nobody has the database open, as then it has neither log nor journal beside it."""
    return not any(os.path.lexists(f"{path}-{kind}") for kind in ("wal", "journal"))


def _connect(path: str, *, is_at_rest: bool) -> sqlite3.Connection:
    """
    Open a database for reading only.

    One at rest is read as an immutable file: else SQLite makes `-wal` and `-shm` beside it and, as a reader,
    leaves them there, or fails where it cannot make them.
    """
    Path(path).stat()
    options = "mode=ro&immutable=1" if is_at_rest else "mode=ro"
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.path.abspath(path))}?{options}",  # noqa: PTH100 - links stay: the WAL is beside
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
        )
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    # Damaged bytes in a text cost that text only.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _unreadable(path: str, error: Exception) -> OSError:
    return OSError(f"{path} cannot be read ({error}): close opencode, or try again later")


class _Reading:
    """One pass over a database, from a cursor on."""

    def __init__(self, path: str, cursor: Cursor | None, wanted: Wanted, *, is_at_rest: bool) -> None:
        self._path = path
        self._wanted = wanted
        self._is_at_rest = is_at_rest
        self._found = Path(path).stat()
        self._mark = database_mark(path)
        self._read_to = _positions(cursor)
        self._lines = cursor.lines if cursor else 0
        self._skipped = cursor.skipped if cursor else 0
        self._unfinished: list[Record] = []

    def batches(self) -> Iterator[Batch]:
        connection = _connect(self._path, is_at_rest=self._is_at_rest)
        try:
            records: list[Record] = []
            for more in self._records(connection):
                records += more
                if len(records) >= BATCH_RECORDS:
                    yield self._batch(records, is_last=False)
                    records = []
            yield self._batch(records, is_last=True)
        finally:
            connection.close()

    def _batch(self, records: list[Record], *, is_last: bool) -> Batch:
        self._check()
        self._skipped += sum(isinstance(record, SkippedLine) for record in records)
        cursor = Cursor(
            self._found.st_ino,
            self._found.st_size,
            self._found.st_mtime_ns,
            self._found.st_size,
            self._lines,
            self._skipped,
            self._mark if is_last and not self._unfinished else "",
            _state(self._read_to),
        )
        return Batch(records, cursor, unfinished=self._unfinished if is_last else [])

    def _check(self) -> None:
        if self._is_at_rest and database_mark(self._path) != self._mark:
            raise _ChangedMeanwhileError

    def _records(self, connection: sqlite3.Connection) -> Iterator[list[Record]]:
        """Yield the records of each session in turn; a damaged one costs only itself."""
        try:
            sessions = [_session(row) for row in connection.execute(_SESSIONS)]
        except _FAILURES as error:
            self._check()
            raise _unreadable(self._path, error) from error
        for session in sessions:
            try:
                yield from self._session_records(connection, session)
            except _FAILURES as error:
                self._check()
                if getattr(error, "sqlite_errorcode", None) in _BUSY:
                    raise _unreadable(self._path, error) from error
                self._unfinished.append(SkippedLine(1))

    def _session_records(self, connection: sqlite3.Connection, session: Session) -> Iterator[list[Record]]:
        rows = connection.execute(
            _MESSAGES, (session.id, *self._read_to.get(session.id, _BEFORE_ALL))
        ).fetchall()
        if not rows:
            return
        messages = [_message(row, session) for row in rows]
        whole = settled(messages)
        first_created = connection.execute(_FIRST_CREATED, (session.id,)).fetchone()[0]
        has_copies = session.time.created is not None and first_created < session.time.created
        parts_of = partial(_parts, connection)
        reader = SessionReader(session, self._wanted, parts_of)
        header = reader.header(rows[0][0], messages, has_copies=has_copies)
        if whole:
            yield [header]
        for at, (row, message) in enumerate(zip(rows, messages, strict=True)):
            line, message_id, created, _ = row
            records = reader.records(line, message, partial(parts_of, message_id, line))
            if at < whole:
                self._read_to[session.id] = (created, message_id)
                self._lines += 1
                yield records
            else:
                self._unfinished += [header, *records] if at == whole else records


def _session(row: tuple[str, str | None, str | None, str | None, int | None]) -> Session:
    session_id, parent_id, directory, version, created = row
    return Session(session_id, parent_id, directory, version, Times(created))


def _message(row: tuple[int, str, int, bytes], session: Session) -> Message | None:
    _, message_id, created, data = row
    message = message_from(data)
    if message is not None:
        message.id, message.session_id = message_id, session.id
        if message.time.created is None:
            message.time = Times(created, message.time.completed)
    return message


def _parts(connection: sqlite3.Connection, message_id: str, line: int = 1) -> list[Part]:
    rows = connection.execute(_PARTS, (message_id,)).fetchall()
    return [Part(line, object_from(data)) for (data,) in rows]


def _positions(cursor: Cursor | None) -> dict[str, tuple[int, str]]:
    """Return for each session the time and id of the last message that was read."""
    kept = cursor.state.get("read_to") if cursor else None
    entries = [entry.split(" ", 2) for entry in kept] if isinstance(kept, list) else []
    return {session_id: (int(created), message_id) for created, session_id, message_id in entries}


def _state(read_to: dict[str, tuple[int, str]]) -> State:
    entries = [
        f"{created} {session_id} {message_id}" for session_id, (created, message_id) in read_to.items()
    ]
    return {"read_to": entries}
