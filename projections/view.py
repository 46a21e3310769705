"""
A view: what one projection has folded so far, in a SQLite file of its own.

The rows of a batch and the position behind it are committed together, so that a fold that is killed at any
moment neither repeats nor skips an event. Several processes may fold the same view at once.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from tokeneconomizer.projections.errors import ViewUnusable
from tokeneconomizer.projections.event_rows import Unreadable
from tokeneconomizer.projections.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.event_rows import FoldedRow

BATCH_EVENTS = 5_000
"""One commit for so many events costs next to nothing for each; the batch holds the file for some 20 ms."""

LOCK_TIMEOUT_S = 5
"""Another process holds the file for one batch; five seconds of waiting mean that something is wrong."""

ERROR_CHARACTERS_MAX = 500
"""An error's words are for a person to read, and may quote what the event holds."""

_CREATE = (
    "CREATE TABLE progress (position INTEGER NOT NULL, mark BLOB)",
    "INSERT INTO progress VALUES (0, NULL)",
    "CREATE TABLE set_aside (position INTEGER PRIMARY KEY, topic TEXT NOT NULL, error TEXT NOT NULL)",
)
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class Projection(Protocol):
    """
    What a projection's module holds.

    Attributes:
        NAME: its file's name begins with it.
        SCHEMA: from 1; raised whenever the rows of an unchanged log change.
        CREATE: statements that make its tables.
        INDEXES: statements that make what only its queries need; a rebuild runs them last.
        DECODED: the topics whose fields the fold looks at; None for all.

    """

    @property
    def NAME(self) -> str: ...  # noqa: D102, N802 - a module's constant
    @property
    def SCHEMA(self) -> int: ...  # noqa: D102, N802 - a module's constant
    @property
    def CREATE(self) -> Sequence[str]: ...  # noqa: D102, N802 - a module's constant
    @property
    def INDEXES(self) -> Sequence[str]: ...  # noqa: D102, N802 - a module's constant
    @property
    def DECODED(self) -> frozenset[str] | None: ...  # noqa: D102, N802 - a module's constant

    def fold(self, connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
        """
        Take the next events, in order; of topics that are not decoded the heads alone.

        It must come to the same rows however the events are cut into calls, keep nothing in memory from one
        call to the next, and leave the transaction alone. An error means that an event cannot be taken.
        """


class SetAside(NamedTuple):
    """An event that a fold could not take."""

    position: int
    topic: str
    error: str


class View:
    """
    One view file, opened.

    Args:
        path: the file, as `create_view` made it.
        projection: what is folded into it.

    Raises (each method):
        ViewUnusable: the file cannot be read or written.

    """

    def __init__(self, path: Path, projection: Projection) -> None:
        self.path = path
        self.projection = projection
        with said_in_words(path, projection):
            self._connection = connect(path)
            self.schema = int(self._connection.execute("PRAGMA user_version").fetchone()[0])
            self._progress()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @property
    def is_outdated(self) -> bool:
        """Whether another schema made the file: it still answers, and waits for its rebuild."""
        return self.schema != self.projection.SCHEMA

    def connection(self) -> sqlite3.Connection:
        """Return what the projection's queries run on."""
        return self._connection

    def position(self) -> int:
        """Return the position of the newest event taken."""
        with said_in_words(self.path, self.projection):
            return self._progress()[0]

    def set_aside(self) -> list[SetAside]:
        """Return the events that could not be taken, in order."""
        with said_in_words(self.path, self.projection):
            rows = self._connection.execute("SELECT position, topic, error FROM set_aside ORDER BY position")
            return [SetAside(*row) for row in rows]

    def catch_up(
        self,
        log: EventLog,
        *,
        batch: int = BATCH_EVENTS,
        max_batches: int | None = None,
        until: int | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """
        Fold what is new in the log.

        Args:
            log: the events.
            batch: events per transaction.
            max_batches: stop after so many, to answer something else in between.
            until: take no event behind this position.
            on_progress: told the position after each batch.

        Returns:
            how many events were taken, those set aside included.

        Raises:
            ViewUnusable: nothing of the batch at hand was kept; what was folded before stays and answers.
            StoreDamaged, StoreTooNew, StoreUnreachable: as the log says; the events before it are folded.

        """
        if self.is_outdated:
            return 0
        taken = batches = 0
        with said_in_words(self.path, self.projection):
            self._start_over_if_replaced(log)
            while (max_batches is None or batches < max_batches) and self._is_behind(log, until):
                taken += self._take(log, batch, until)
                batches += 1
                if on_progress is not None:
                    on_progress(self._progress()[0])
        return taken

    def _is_behind(self, log: EventLog, until: int | None) -> bool:
        # Looked at without the lock, which is only taken where there is something to write.
        following = log.raw_page(self._progress()[0], 1)
        if not following:
            return False
        position = following.position if isinstance(following, Unreadable) else following[0][0]
        return until is None or position <= until

    def _take(self, log: EventLog, limit: int, until: int | None) -> int:
        with _transaction(self._connection):
            stretch = Stretch(log, self._progress()[0], limit, until)
            self._fold(stretch)
            if stretch.count:
                progress = (stretch.last, log.mark(stretch.last))
                self._connection.execute("UPDATE progress SET position = ?, mark = ?", progress)
        if stretch.error is not None:
            raise stretch.error
        return stretch.count

    def _fold(self, stretch: Stretch) -> None:
        # One savepoint for all is far cheaper than one for each, and events that cannot be taken are rare.
        if self._fault_in(stretch.rows(self.projection)) is not None:
            for row in stretch.rows(self.projection):
                fault = self._fault_in([row])
                if fault is not None:
                    self._put_aside(row.position, row.topic, fault)
        for entry in stretch.unreadable:
            self._put_aside(*entry)

    def _fault_in(self, rows: Iterable[FoldedRow]) -> str | None:
        """Fold the rows, or none of them; return the error that is their own fault."""
        try:
            with _savepoint(self._connection):
                self.projection.fold(self._connection, rows)
        except Exception as error:
            if _is_fault_of_surroundings(error):
                raise
            return f"{type(error).__name__}: {error}"
        return None

    def _put_aside(self, position: int, topic: str, error: str) -> None:
        words = error.encode("utf-8", "replace").decode()[:ERROR_CHARACTERS_MAX]
        self._connection.execute("INSERT INTO set_aside VALUES (?, ?, ?)", (position, topic, words))

    def _progress(self) -> tuple[int, bytes | None]:
        position, mark = self._connection.execute("SELECT position, mark FROM progress").fetchone()
        return position, mark

    def _start_over_if_replaced(self, log: EventLog) -> None:
        """Begin anew when the log is another one than was folded: the user moved the store aside."""
        if not _is_replaced(log, *self._progress()):
            return
        with _transaction(self._connection):
            if not _is_replaced(log, *self._progress()):
                return
            for (table,) in self._connection.execute(_TABLES).fetchall():
                self._connection.execute(f'DROP TABLE "{table}"')
            _create_tables(self._connection, self.projection)
            create_indexes(self._connection, self.projection)


def connect(path: Path) -> sqlite3.Connection:
    """Open a view's file, which must be there; transactions are begun by hand."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=LOCK_TIMEOUT_S, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def create_view(path: Path, projection: Projection, *, indexed: bool = True) -> None:
    """Make an empty view where there is none; it appears whole or not at all."""
    # A name of this process's own, linked into place: two processes may start at once.
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    with said_in_words(path, projection):
        remove_database(draft)
        # SQLite gives the files beside it the same mode, whatever the umask.
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            connection = connect(draft)
            connection.execute("PRAGMA journal_mode=WAL")
            with _transaction(connection):
                _create_tables(connection, projection)
                if indexed:
                    create_indexes(connection, projection)
            connection.close()
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            remove_database(draft)


def remove_database(path: Path) -> None:
    """Delete a SQLite file and what lies beside it; the file itself first, so that no half of it is read."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _create_tables(connection: sqlite3.Connection, projection: Projection) -> None:
    for statement in (*_CREATE, *projection.CREATE):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={projection.SCHEMA}")


def create_indexes(connection: sqlite3.Connection, projection: Projection) -> None:
    """Make what only queries need."""
    for statement in projection.INDEXES:
        connection.execute(statement)


def _is_replaced(log: EventLog, position: int, mark: bytes | None) -> bool:
    if mark is None or log.is_absent:
        return False
    found = log.mark(position)
    return found != mark if found else log.last_position() < position


def _is_fault_of_surroundings(error: Exception) -> bool:
    """Whether disk, lock, memory or the fold's own SQL failed, so that the event has to be tried again."""
    surroundings = (sqlite3.OperationalError, sqlite3.InternalError, MemoryError)
    return isinstance(error, surroundings) or type(error) is sqlite3.DatabaseError


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("SAVEPOINT events")
    try:
        yield
    except BaseException:
        # A full disk makes SQLite roll back everything by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK TO events")
            connection.execute("RELEASE events")
        raise
    connection.execute("RELEASE events")


@contextmanager
def said_in_words(path: Path, projection: Projection) -> Iterator[None]:
    """Turn what SQLite or the system complains of into `ViewUnusable`; queries are run in it as well."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        message = (
            f"the view {path} cannot be used ({error}): see that its disk has room and that you may write "
            f"there; if the file is damaged, `te rebuild {projection.NAME}` makes it anew from the events"
        )
        raise ViewUnusable(message) from error
