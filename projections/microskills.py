"""
What repositories taught their sessions: attempts that facts are computed from, blocks, wishes, injections.

The fold keeps of a session what can teach, a row an attempt. Facts are computed from these rows when asked
for (`microskill_queries`), so that they depend on the set of sessions and not on the order in which it came
to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Attempt, Outcome, Result, key_of, outcome_of
from tokeneconomizer.domain.facts.life import Wish
from tokeneconomizer.domain.facts.ways import folder_after, joined, ways_in, within
from tokeneconomizer.domain.stream_ids import is_imported
from tokeneconomizer.projections.event_rows import EventHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from tokeneconomizer.domain.facts.ways import Way
    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow

NAME = "microskills"

SCHEMA = 1

CREATE = (
    """CREATE TABLE streams (
        stream_id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        repository TEXT NOT NULL,
        checkout TEXT NOT NULL,
        started_at TEXT NOT NULL,
        stays INTEGER NOT NULL,
        folder TEXT NOT NULL,
        edits INTEGER NOT NULL,
        lacks INTEGER NOT NULL,
        programs TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE open_calls (
        stream_id TEXT NOT NULL,
        call_id TEXT NOT NULL,
        command TEXT NOT NULL,
        background INTEGER NOT NULL,
        PRIMARY KEY (stream_id, call_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE attempts (
        stream_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        place INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        purpose TEXT NOT NULL,
        head TEXT NOT NULL,
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        is_whole INTEGER NOT NULL,
        rest TEXT NOT NULL,
        script TEXT NOT NULL,
        folder TEXT NOT NULL,
        variables TEXT NOT NULL,
        outcome TEXT NOT NULL,
        duration_ms INTEGER,
        edits INTEGER NOT NULL,
        PRIMARY KEY (stream_id, position, place)
    ) WITHOUT ROWID""",
    # The newest event after which a repository's block may come out differently.
    "CREATE TABLE taught (repository TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE repositories (
        stream_id TEXT PRIMARY KEY,
        repository TEXT NOT NULL UNIQUE,
        version INTEGER NOT NULL,
        text TEXT NOT NULL,
        log_position INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE wishes (
        repository TEXT NOT NULL,
        fact_id TEXT NOT NULL,
        wish TEXT NOT NULL,
        PRIMARY KEY (repository, fact_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE links (
        repository TEXT NOT NULL,
        other TEXT NOT NULL,
        PRIMARY KEY (repository, other)
    ) WITHOUT ROWID""",
    # What reached its agent; taken back where its delivery turns out to have failed.
    """CREATE TABLE injections (
        stream_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (stream_id, version)
    ) WITHOUT ROWID""",
)

INDEXES = ("CREATE INDEX streams_by_repository ON streams (repository, started_at)",)

HOSTS_WHOSE_SHELL_STAYS = frozenset({"claude_code"})
"""A `cd` of the main agent holds for its later calls; a sub-agent's, and other agents', begin anew."""

PROGRAMS_KEPT = 8
"""More than there are families of programs that take each other's place."""


@dataclass(slots=True)
class _Stream:
    """
    A row of `streams`.

    Attributes:
        session: host and session id, so that a sub-agent's calls count with its parent's.
        stays: whether a `cd` holds for later calls.
        folder: where its shell stands; empty for the checkout.
        edits: how many calls wrote files.
        lacks: whether a program was not found: whatever works from then on may stand in for it.
        programs: those without a purpose that worked, each stored once.

    """

    stream_id: str
    session: str
    repository: str
    checkout: str
    started_at: str
    stays: bool
    folder: str = ""
    edits: int = 0
    lacks: bool = False
    programs: str = ""


_STREAM_COLUMNS = tuple(_Stream.__dataclass_fields__)
_FIND = f"SELECT {', '.join(_STREAM_COLUMNS)} FROM streams WHERE stream_id = ?"
_KEEP = f"INSERT OR REPLACE INTO streams VALUES ({', '.join('?' for _ in _STREAM_COLUMNS)})"
_OPEN = "SELECT command, background FROM open_calls WHERE stream_id = ? AND call_id = ?"
_CLOSE = "DELETE FROM open_calls WHERE stream_id = ? AND call_id = ?"
_INSERT_OPEN = "INSERT OR REPLACE INTO open_calls VALUES (?, ?, ?, ?)"
ATTEMPT_FIELDS = tuple(name for name in Attempt.__dataclass_fields__ if name != "position")
_ATTEMPT_COLUMNS = ("stream_id", "position", "place", *ATTEMPT_FIELDS)
_INSERT_ATTEMPT = (
    f"INSERT INTO attempts ({', '.join(_ATTEMPT_COLUMNS)}) "
    f"VALUES ({', '.join('?' for _ in _ATTEMPT_COLUMNS)})"
)
_TAUGHT = "INSERT INTO taught VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position"


class _Batch:
    """What some events touch, held in memory until all of them are folded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.streams: dict[str, _Stream | None] = {}
        self.open_calls: dict[tuple[str, str], tuple[str, bool]] = {}
        self.attempts: list[tuple[object, ...]] = []
        self.taught: dict[str, int] = {}

    def stream(self, stream_id: str) -> _Stream | None:
        """Return the session that an event belongs to; None where its beginning is not stored."""
        if stream_id not in self.streams:
            found = self.connection.execute(_FIND, (stream_id,)).fetchone()
            self.streams[stream_id] = _Stream(*found) if found else None
        return self.streams[stream_id]

    def take_call(self, stream_id: str, call_id: str) -> tuple[str, bool] | None:
        """Return the command of a call that came back, and whether it was left to run on."""
        key = (stream_id, call_id)
        held = self.open_calls.pop(key, None)
        if held is not None:
            return held
        found = self.connection.execute(_OPEN, key).fetchone()
        if found is None:
            return None
        self.connection.execute(_CLOSE, key)
        return str(found[0]), bool(found[1])

    def write(self) -> None:
        """Write the tables."""
        streams = [stream for stream in self.streams.values() if stream is not None]
        self.connection.executemany(
            _KEEP, [[getattr(one, name) for name in _STREAM_COLUMNS] for one in streams]
        )
        calls = [(*key, command, background) for key, (command, background) in self.open_calls.items()]
        self.connection.executemany(_INSERT_OPEN, calls)
        self.connection.executemany(_INSERT_ATTEMPT, self.attempts)
        self.connection.executemany(_TAUGHT, self.taught.items())


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    batch = _Batch(connection)
    for row in rows:
        if not isinstance(row, EventHead):
            _TAKE[row.topic](batch, row)
    batch.write()


def _started(batch: _Batch, row: EventRow) -> None:
    data = row.data
    host, agent_id = str(data["host"]), str(data["agent_id"])
    batch.streams[row.stream_id] = _Stream(
        stream_id=row.stream_id,
        session=f"{host} {data['session_id']}",
        repository=str(data["repository"]),
        checkout=str(data["checkout"]),
        started_at=row.at,
        stays=host in HOSTS_WHOSE_SHELL_STAYS and not agent_id,
    )


def _called(batch: _Batch, row: EventRow) -> None:
    if row.data["kind"] == "shell" and row.data["command"]:
        call = (str(row.data["command"]), bool(row.data["background"]))
        batch.open_calls[row.stream_id, str(row.data["call_id"])] = call


def _returned(batch: _Batch, row: EventRow) -> None:
    stream = batch.stream(row.stream_id)
    if stream is None:
        return
    call = batch.take_call(row.stream_id, str(row.data["call_id"]))
    if call is not None:
        _take_command(batch, stream, row, *call)
    if row.data["written"]:
        stream.edits += 1


def _take_command(batch: _Batch, stream: _Stream, row: EventRow, command: str, background: bool) -> None:  # noqa: FBT001 - as stored
    result = _result(row, background=background)
    found = [(way, outcome_of(way, result)) for way in ways_in(command)]
    for place, (way, outcome) in enumerate(found):
        attempt = _attempt(stream, row, way, outcome) if outcome else None
        if attempt is not None and _teaches(stream, attempt):
            values = [_stored(getattr(attempt, name)) for name in ATTEMPT_FIELDS]
            batch.attempts.append((row.stream_id, row.position, place, *values))
            if is_imported(row.stream_id):
                batch.taught[stream.repository] = row.position
    if stream.stays and (goes_to := folder_after(command)) is not None:
        # Where a line failed its `cd` may be what failed.
        stream.folder = "?" if result.status == "failed" else joined(stream.folder, goes_to)


def _result(row: EventRow, *, background: bool) -> Result:
    data = row.data
    exit_code, verdict = data["exit_code"], data["verdict"]
    return Result(
        status=str(data["status"]),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        signature=str(data["signature"]),
        verdict=None if verdict is None else str(verdict),
        interrupted=bool(data["interrupted"]),
        background=background,
    )


def _attempt(stream: _Stream, row: EventRow, way: Way, outcome: Outcome) -> Attempt | None:
    """Return the attempt; None where it was not made in the repository, or where that cannot be told."""
    folder = within(joined(stream.folder, way.folder) if way.folder else stream.folder, stream.checkout)
    if folder is None:
        return None
    duration_ms, turn = row.data["duration_ms"], row.data["turn"]
    return Attempt(
        position=row.position,
        turn=turn if isinstance(turn, int) else 0,
        purpose=way.purpose or "",
        head=way.head,
        key=key_of(way.head),
        text=way.text,
        is_whole=way.is_whole,
        rest=way.rest,
        script=way.script,
        folder=folder,
        variables=way.variables,
        outcome=outcome,
        duration_ms=duration_ms if isinstance(duration_ms, int) else None,
        edits=stream.edits,
    )


def _teaches(stream: _Stream, attempt: Attempt) -> bool:
    """Return whether an attempt is kept; without a purpose only what may stand in for a missing program."""
    is_missing = attempt.outcome == Outcome.NO_PROGRAM
    stream.lacks = stream.lacks or is_missing
    if attempt.purpose or is_missing:
        return True
    known = stream.programs.split()
    if not attempt.worked or (attempt.program in known and not stream.lacks):
        return False
    stream.programs = " ".join(dict.fromkeys([*known, attempt.program][:PROGRAMS_KEPT]))
    return True


def _stored(value: object) -> object:
    return " ".join(value) if isinstance(value, tuple) else value


def _archived(batch: _Batch, row: EventRow) -> None:
    stream = batch.stream(row.stream_id)
    if stream is not None:
        batch.taught[stream.repository] = row.position


def _injected(batch: _Batch, row: EventRow) -> None:
    values = (row.stream_id, row.stream_version, str(row.data["text"]))
    batch.connection.execute("INSERT INTO injections VALUES (?, ?, ?)", values)


def _delivery_failed(batch: _Batch, row: EventRow) -> None:
    which = (row.stream_id, row.data["failed_version"])
    batch.connection.execute("DELETE FROM injections WHERE stream_id = ? AND version = ?", which)


def _opened(batch: _Batch, row: EventRow) -> None:
    values = (row.stream_id, str(row.data["repository"]), 0, "", 0)
    batch.connection.execute("INSERT INTO repositories VALUES (?, ?, ?, ?, ?)", values)


def _rendered(batch: _Batch, row: EventRow) -> None:
    batch.connection.execute(
        "UPDATE repositories SET version = ?, text = ?, log_position = ? WHERE stream_id = ?",
        (row.stream_version, str(row.data["text"]), row.data["log_position"], row.stream_id),
    )


def _wished(wish: Wish) -> Callable[[_Batch, EventRow], None]:
    def take(batch: _Batch, row: EventRow) -> None:
        repository = _repository_of(batch.connection, row.stream_id)
        values = (repository, str(row.data["fact_id"]), wish.value)
        batch.connection.execute("INSERT OR REPLACE INTO wishes VALUES (?, ?, ?)", values)
        batch.taught[repository] = row.position

    return take


def _linked(batch: _Batch, row: EventRow) -> None:
    repository = _repository_of(batch.connection, row.stream_id)
    other = str(row.data["other_repository"])
    batch.connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?)", (repository, other))
    batch.taught[repository] = row.position


def _repository_of(connection: sqlite3.Connection, stream_id: str) -> str:
    rows = connection.execute("SELECT repository FROM repositories WHERE stream_id = ?", (stream_id,))
    found = rows.fetchone()
    if found is None:
        message = "an event of a repository before the one that opens it"
        raise ValueError(message)
    return str(found[0])


def _passed_over(_batch: _Batch, _row: EventRow) -> None:
    """Leave a proposed fact to the part that proposes."""


_TAKE: dict[str, Callable[[_Batch, EventRow], None]] = {
    "session.started": _started,
    "session.tool_called": _called,
    "session.tool_returned": _returned,
    "session.archived": _archived,
    "session.facts_injected": _injected,
    "session.delivery_failed": _delivery_failed,
    "microskills.opened": _opened,
    "microskills.block_rendered": _rendered,
    "microskills.fact_pinned": _wished(Wish.PINNED),
    "microskills.fact_retired_by_user": _wished(Wish.RETIRED),
    "microskills.fact_proposed": _passed_over,
    "microskills.identity_linked": _linked,
}

DECODED = frozenset(_TAKE)
