"""The event log as rows, read straight from the store's file, as far as it can be read."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from tokeneconomizer.domain.errors import StoreDamaged, StoreTooNew
from tokeneconomizer.projections.damage import end_of_damage, first_number, number
from tokeneconomizer.projections.errors import StoreUnreachable
from tokeneconomizer.projections.event_rows import Unreadable, decoded_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.projections.event_rows import ChainedRow, LogEntry, Row

PAGE_EVENTS = 1_000
"""About a megabyte of rows at once; larger pages are not measurably faster."""

FAULTS_TOLD = 10
"""What is wrong with the first pages tells what is wrong with all."""

READABLE_STORE_SCHEMA = 3
"""The newest schema of the store that is understood here; a test holds it equal to the store's own."""

LOCK_TIMEOUT_S = 5
"""A reader waits only while another process recovers the file, which takes milliseconds."""

_EVENTS = "stored_events"
_COLUMNS = "rowid, originator_id, originator_version, topic, state"
_CHAINED = f"SELECT {_COLUMNS}, chain FROM {_EVENTS} WHERE rowid > ? ORDER BY rowid LIMIT ?"
_PAGE = f"SELECT {_COLUMNS} FROM {_EVENTS} WHERE rowid > ? ORDER BY rowid LIMIT ?"
_STREAM = f"SELECT {_COLUMNS} FROM {_EVENTS} WHERE originator_id = ? ORDER BY originator_version"
_FIRST = f"{_STREAM} LIMIT 1"
_EVENT = f"SELECT {_COLUMNS} FROM {_EVENTS} WHERE rowid = ?"
_MARK = f"SELECT chain FROM {_EVENTS} WHERE rowid = ?"
_LAST = f"SELECT coalesce(max(rowid), 0) FROM {_EVENTS}"
_LAST_GIVEN = f"SELECT seq FROM sqlite_sequence WHERE name = '{_EVENTS}'"
_HAS_EVENTS = f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{_EVENTS}'"
_HAS_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"

# The file is whole, only not to be had: SQLite's primary result codes.
_UNREACHABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
_PRIMARY_CODE = 0xFF


class EventLog:
    """
    Read-only access to the events of one store file; a file that is not there is an empty log.

    Args:
        path: the store's file.

    Raises (each method):
        StoreDamaged: nothing behind the place asked for can be read any more.
        StoreTooNew: a newer program wrote the file.
        StoreUnreachable: the file is locked, or may not be opened.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def is_absent(self) -> bool:
        """Whether no store was made yet."""
        return self._open() is None

    def page(self, after: int, limit: int = PAGE_EVENTS) -> list[LogEntry]:
        """
        Return the events behind a position, in order; none when there are no more.

        A page before a damaged place of the file is shorter; the damaged stretch itself is one `Unreadable`.
        """
        rows = self.raw_page(after, limit)
        return [rows] if isinstance(rows, Unreadable) else decoded_page(rows)

    def raw_page(self, after: int, limit: int) -> list[Row] | Unreadable:
        """Return such a page of rows as they lie, or the damaged stretch right behind the position."""
        return self._rows(_PAGE, after, limit)

    def page_of_chain(self, after: int, limit: int = PAGE_EVENTS) -> list[ChainedRow] | Unreadable:
        """Return the same with the links of the chain."""
        return self._rows(_CHAINED, after, limit)

    def entries(self, after: int = 0) -> Iterator[LogEntry]:
        """Return all events behind a position, a page in memory at a time."""
        while page := self.page(after):
            yield from page
            after = page[-1].position

    def last_position(self) -> int:
        """Return the newest event's position, 0 when there is none."""
        connection = self._open()
        if connection is None:
            return 0
        try:
            return number(connection, _LAST)
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            raise StoreDamaged(self._damaged(error)) from error

    def stream(self, stream_id: str) -> list[LogEntry]:
        """Return the events of one stream, in order."""
        return self._select(_STREAM, stream_id)

    def first(self, stream_id: str) -> LogEntry | None:
        """Return the first event of one stream."""
        return next(iter(self._select(_FIRST, stream_id)), None)

    def event(self, position: int) -> LogEntry | None:
        """Return the event at a position."""
        return next(iter(self._select(_EVENT, position)), None)

    def mark(self, position: int) -> bytes | None:
        """Return the chain's link at a position: it tells this log from any other; None when unreadable."""
        connection = self._open()
        if connection is None:
            return None
        try:
            row = connection.execute(_MARK, (position,)).fetchone()
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            return None
        return bytes(row[0]) if row else None

    def faults_of_file(self) -> list[str]:
        """
        Return what SQLite finds wrong with the file, page by page; nothing when it is whole.

        Raises:
            StoreDamaged: it cannot even be gone through.

        """
        connection = self._open()
        if connection is None:
            return []
        try:
            found = connection.execute(f"PRAGMA integrity_check({FAULTS_TOLD})").fetchall()
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            raise StoreDamaged(self._damaged(error)) from error
        return [words for (words,) in found if words != "ok"]

    def last_given(self) -> int:
        """Return the newest position that was ever given to an event."""
        connection = self._open()
        return 0 if connection is None else first_number(connection, _LAST_GIVEN, _LAST)

    def _rows(self, statement: str, after: int, limit: int) -> list[Any] | Unreadable:
        connection = self._open()
        if connection is None:
            return []
        try:
            rows = connection.execute(statement, (after, limit)).fetchall()
            if not rows or rows[-1][0] == after + len(rows):
                return rows
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
        # Something is missing or damaged, which is rare: looked at row by row.
        rows = []
        try:
            for row in connection.execute(statement, (after, limit)):
                before = rows[-1][0] if rows else after
                if row[0] != before + 1:
                    _check_gap(connection, before, row[0])
                rows.append(row)
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            return rows or self._damaged_stretch(connection, after, error)
        return rows

    def _select(self, statement: str, argument: str | int) -> list[LogEntry]:
        connection = self._open()
        if connection is None:
            return []
        try:
            return decoded_page(connection.execute(statement, (argument,)).fetchall())
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            raise StoreDamaged(self._damaged(error)) from error

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is not None:
            return self._connection
        if not self.path.exists():
            return None
        try:
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_TIMEOUT_S
            )
        except sqlite3.OperationalError as error:
            raise StoreUnreachable(self._unreachable(error)) from error
        try:
            # Without it SQLite refuses a file that was cut short as a whole, instead of reading what is left.
            connection.execute("PRAGMA writable_schema=ON")
            self._refuse_newer(number(connection, "PRAGMA user_version"))
            if number(connection, _HAS_EVENTS):
                self._connection = connection
            elif number(connection, _HAS_TABLES):
                raise StoreDamaged(self._foreign())
        except sqlite3.DatabaseError as error:
            self._raise_if_unreachable(error)
            raise StoreDamaged(self._damaged(error)) from error
        finally:
            if self._connection is None:
                connection.close()
        return self._connection

    def _damaged_stretch(self, connection: sqlite3.Connection, after: int, error: Exception) -> Unreadable:
        last = first_number(connection, _LAST, _LAST_GIVEN)
        end = end_of_damage(after, last, partial(_can_read_behind, connection))
        if end is None:
            raise StoreDamaged(self._damaged(error)) from error
        return Unreadable(end, "", f"the store is damaged from event {after + 1} to event {end}: {error}")

    def _refuse_newer(self, schema: int) -> None:
        if schema > READABLE_STORE_SCHEMA:
            message = (
                f"the event store {self.path} has schema {schema}, this program knows "
                f"{READABLE_STORE_SCHEMA}: install the newer program again, it reads this store"
            )
            raise StoreTooNew(message)

    def _raise_if_unreachable(self, error: sqlite3.DatabaseError) -> None:
        # A text that is no UTF-8 is Python's own complaint: it has no code, and is the row's fault.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & _PRIMARY_CODE
        if code in _UNREACHABLE:
            raise StoreUnreachable(self._unreachable(error)) from error

    def _unreachable(self, error: Exception) -> str:
        return (
            f"the event store {self.path} cannot be opened now ({error}): "
            "see that no other program holds it and that it is yours to read, then try again"
        )

    def _foreign(self) -> str:
        return (
            f"{self.path} is a database of another program: move it away, and put a backup of the event "
            "store in its place"
        )

    def _damaged(self, error: Exception) -> str:
        return (
            f"the event store {self.path} is damaged ({error}): what could be read was read; put a backup "
            "in its place, or move it aside to go on with an empty one"
        )


def _can_read_behind(connection: sqlite3.Connection, position: int) -> bool:
    try:
        row = connection.execute(_PAGE, (position, 1)).fetchone()
        if row is not None:
            _check_gap(connection, position, row[0])
    except sqlite3.DatabaseError:
        return False
    return row is not None


def _check_gap(connection: sqlite3.Connection, before: int, position: int) -> None:
    """Refuse a number that no event can have: pages that were lost or overwritten read as such rows."""
    if not before < position <= number(connection, _LAST_GIVEN):
        message = f"event {position} cannot follow event {before}"
        raise sqlite3.DatabaseError(message)
