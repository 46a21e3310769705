"""
Which file of a projection answers, and how a new one takes its place.

`<name>.current` names the file that answers: `<name>.<schema>.db` at first. A rebuild fills
`<name>.<schema>-<n>.db` beside it, n being the answering file's number plus one, and then replaces the
pointer by a rename. A rebuild begins by deleting what an earlier one left, so that it may be killed at any
moment and started again. A file is never replaced under its name: SQLite finds the log beside it by name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.projections.errors import RebuildRunning, ViewUnusable
from tokeneconomizer.projections.view import (
    View,
    create_indexes,
    create_view,
    remove_database,
    said_in_words,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.view import Projection

OPEN_ATTEMPTS = 3
"""A switch may delete the file between reading the pointer and opening it; not three times in a row."""

REBUILD_MEMORY_BYTES_MAX = 64_000_000
"""
What a process that rebuilds may take, however long the log: the interpreter, a page of decoded events, the
rows that one batch touched, SQLite's caches. `tests/bench/rebuild.py` holds it.
"""

CHECKSUM_BYTES = 16

_FILE_NAME = re.compile(r"(?P<name>\w+)\.(?P<schema>\d+)(?:-(?P<number>\d+))?\.db")


@dataclass(frozen=True, slots=True)
class Verification:
    """
    Whether a rebuild gives the rows that the view has.

    Attributes:
        checksum: of the rebuilt rows.
        answering_checksum: of the view's rows.
        position: up to which event both were folded.

    """

    checksum: str
    answering_checksum: str
    position: int

    @property
    def is_equal(self) -> bool:
        """Whether all rows of all tables are equal."""
        return self.checksum == self.answering_checksum


def current(folder: Path, projection: Projection) -> Path | None:
    """Return the file that answers, or None before the first one."""
    try:
        named = _pointer(folder, projection).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return None
    match = _FILE_NAME.fullmatch(named)
    return folder / named if match and match["name"] == projection.NAME else None


def open_view(folder: Path, projection: Projection) -> View:
    """
    Open the view that answers; the first time, an empty one is made.

    One of another schema is opened as well: it is outdated, answers what it knows, and waits for `rebuild`.

    Raises:
        ViewUnusable: the file cannot be read or written.

    """
    for _ in range(OPEN_ATTEMPTS - 1):
        try:
            return View(_answering(folder, projection), projection)
        except ViewUnusable:
            continue
    return View(_answering(folder, projection), projection)


def is_superseded(view: View) -> bool:
    """Whether another file answers by now: close this view and open it again."""
    return current(view.path.parent, view.projection) != view.path


def rebuild(
    log: EventLog, folder: Path, projection: Projection, on_progress: Callable[[int], None] | None = None
) -> Path:
    """
    Fold all events into a new file and let it answer from then on.

    Args:
        log: the events.
        folder: where the views lie.
        projection: what to rebuild.
        on_progress: told the position after each batch.

    Returns:
        the file that answers now.

    Raises:
        RebuildRunning: another process is at it.
        ViewUnusable: the folder cannot be written; the old file goes on answering.

    """
    with _alone(folder, projection):
        target = _next_file(folder, projection)
        _fill(log, target, projection, on_progress)
        with said_in_words(target, projection):
            _point_to(target, projection)
            _remove_others(target, projection)
        return target


def verify(
    log: EventLog, folder: Path, projection: Projection, on_progress: Callable[[int], None] | None = None
) -> Verification:
    """
    Fold all events into a throw-away file and compare every row with those of the view that answers.

    The view may be folded on meanwhile; both sides are compared as of one position.

    Args:
        log: the events.
        folder: where the views lie.
        projection: what to verify.
        on_progress: told the position after each batch.

    Raises:
        RebuildRunning: another process is at it.
        ViewUnusable: a file cannot be read or written, or the view is of another schema.

    """
    with _alone(folder, projection), open_view(folder, projection) as view:
        if view.is_outdated:
            message = (
                f"the view {view.path} is of another schema, so that its rows differ anyway: "
                f"run `te rebuild {projection.NAME}`"
            )
            raise ViewUnusable(message)
        view.catch_up(log)
        scratch = folder / f"{projection.NAME}.verify"
        try:
            _fill(log, scratch, projection, on_progress, until=view.position())
            with View(scratch, projection) as fresh, said_in_words(view.path, projection):
                return _compared(view, fresh, log)
        finally:
            remove_database(scratch)


def fingerprint(view: View) -> tuple[int, str]:
    """Return the position of the newest event taken and the checksum of all rows, as of one moment."""
    connection = view.connection()
    with said_in_words(view.path, view.projection):
        connection.execute("BEGIN")
        try:
            return view.position(), checksum(connection)
        finally:
            connection.execute("ROLLBACK")


def _compared(view: View, fresh: View, log: EventLog) -> Verification:
    answering = view.connection()
    # A read transaction: what is folded from here on is not seen.
    answering.execute("BEGIN")
    try:
        position = view.position()
        fresh.catch_up(log, until=position)
        return Verification(checksum(fresh.connection()), checksum(answering), position)
    finally:
        answering.execute("ROLLBACK")


def checksum(connection: sqlite3.Connection) -> str:
    """Return a hash of all rows of all tables, in whatever order they lie."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    digest = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
    for (table,) in tables.fetchall():
        total = 0
        for row in connection.execute(f'SELECT * FROM "{table}"'):
            row_digest = hashlib.blake2b(repr(tuple(row)).encode(), digest_size=CHECKSUM_BYTES).digest()
            total += int.from_bytes(row_digest, "big")
        digest.update(f"{table}\0{total}\0".encode())
    return digest.hexdigest()


def _pointer(folder: Path, projection: Projection) -> Path:
    return folder / f"{projection.NAME}.current"


def _answering(folder: Path, projection: Projection) -> Path:
    """Return the file that answers, made empty where there is none."""
    path = current(folder, projection)
    if path is not None and not path.exists():
        # A switch may have come between the two looks.
        path = current(folder, projection)
    if path is not None and path.exists():
        return path
    first = folder / f"{projection.NAME}.{projection.SCHEMA}.db"
    create_view(first, projection)
    with said_in_words(first, projection):
        _point_to(first, projection)
    return first


def _next_file(folder: Path, projection: Projection) -> Path:
    path = current(folder, projection)
    match = _FILE_NAME.fullmatch(path.name) if path else None
    number = int(match["number"] or 1) + 1 if match else 2
    return folder / f"{projection.NAME}.{projection.SCHEMA}-{number}.db"


def _fill(
    log: EventLog,
    target: Path,
    projection: Projection,
    on_progress: Callable[[int], None] | None,
    until: int | None = None,
) -> None:
    with said_in_words(target, projection):
        remove_database(target)
    create_view(target, projection, indexed=False)
    with View(target, projection) as view, said_in_words(target, projection):
        connection = view.connection()
        # Until the switch nobody else reads it, and it is made durable once, as a whole.
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("PRAGMA synchronous=OFF")
        view.catch_up(log, until=until, on_progress=on_progress)
        create_indexes(connection, projection)
        connection.execute("PRAGMA journal_mode=WAL")
    _flush(target)


def _point_to(path: Path, projection: Projection) -> None:
    pointer = _pointer(path.parent, projection)
    draft = pointer.with_name(f"{pointer.name}.{os.getpid()}.draft")
    draft.write_text(f"{path.name}\n", encoding="utf-8")
    draft.chmod(0o600)
    _flush(draft)
    draft.replace(pointer)
    _flush(path.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_others(answering: Path, projection: Projection) -> None:
    """Delete the projection's other files; who still has one open keeps it until it looks again."""
    pattern = re.compile(rf"{projection.NAME}\.(current\.\d+\.draft|\d+(-\d+)?\.db(\.\d+\.draft)?)")
    for path in list(answering.parent.iterdir()):
        if path != answering and pattern.fullmatch(path.name):
            remove_database(path)


@contextmanager
def _alone(folder: Path, projection: Projection) -> Iterator[None]:
    # The system lets go of the lock when the process ends, however it ends.
    lock = folder / f"{projection.NAME}.rebuild.lock"
    with said_in_words(lock, projection):
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"another process rebuilds the view `{projection.NAME}`: wait until it is through"
            raise RebuildRunning(message) from error
        yield
    finally:
        os.close(descriptor)
