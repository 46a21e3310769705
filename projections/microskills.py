"""
What repositories taught their sessions: attempts that facts are computed from, blocks, wishes, injections.

The fold keeps of a session what can teach, a row an attempt. Facts are computed from these rows when asked
for (`microskill_queries`), so that they depend on the set of sessions and not on the order in which it came
to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Attempt
from tokeneconomizer.domain.facts.life import Wish
from tokeneconomizer.domain.facts.proposed import Proposal, heads_of, shown_in
from tokeneconomizer.domain.facts.proposer import PURPOSE
from tokeneconomizer.domain.facts.purposes import Purpose
from tokeneconomizer.domain.facts.watching import Watched, attempts_in, stays_in_folder
from tokeneconomizer.domain.stream_ids import is_imported

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from tokeneconomizer.domain.facts.ways import Heads
    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow

NAME = "microskills"

SCHEMA = 2

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
        programs TEXT NOT NULL,
        archived_at TEXT NOT NULL,
        may_be_asked_about INTEGER NOT NULL
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
    """CREATE TABLE proposals (
        repository TEXT NOT NULL,
        fact_id TEXT NOT NULL,
        purpose TEXT NOT NULL,
        command TEXT NOT NULL,
        instead_of TEXT NOT NULL,
        position INTEGER NOT NULL,
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


@dataclass(slots=True, kw_only=True)
class _Stream(Watched):
    """
    A row of `streams`.

    Attributes:
        session: host and session id, so that a sub-agent's calls count with its parent's.
        archived_at: empty while it is not.
        may_be_asked_about: whether a side call may propose facts from it: none was made, and the main agent
            was watched, not imported.

    """

    stream_id: str
    session: str
    repository: str
    started_at: str
    archived_at: str = ""
    may_be_asked_about: bool = False


_STREAM_COLUMNS = tuple(_Stream.__dataclass_fields__)
_STREAM_VALUES = attrgetter(*_STREAM_COLUMNS)
_FIND = f"SELECT {', '.join(_STREAM_COLUMNS)} FROM streams WHERE stream_id = ?"
_KEEP = (
    f"INSERT OR REPLACE INTO streams ({', '.join(_STREAM_COLUMNS)}) "
    f"VALUES ({', '.join('?' for _ in _STREAM_COLUMNS)})"
)
_OPEN = "SELECT call_id, command, background FROM open_calls WHERE stream_id = ?"
_CLOSE = "DELETE FROM open_calls WHERE stream_id = ? AND call_id = ?"
_INSERT_OPEN = "INSERT OR REPLACE INTO open_calls VALUES (?, ?, ?, ?)"
_ATTEMPT_COLUMNS = ("stream_id", "place", *Attempt._fields)
_VARIABLES = _ATTEMPT_COLUMNS.index("variables")
_INSERT_ATTEMPT = (
    f"INSERT INTO attempts ({', '.join(_ATTEMPT_COLUMNS)}) "
    f"VALUES ({', '.join('?' for _ in _ATTEMPT_COLUMNS)})"
)
_PROPOSED = "INSERT OR IGNORE INTO proposals VALUES (?, ?, ?, ?, ?, ?)"
_TAUGHT = "INSERT INTO taught VALUES (?, ?) ON CONFLICT DO UPDATE SET position = excluded.position"


class _Streams(dict[str, "_Stream | None"]):
    """The sessions that events belong to, read when they are asked for; None where no beginning is stored."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection
        self.stored_calls: dict[tuple[str, object], tuple[str, bool]] = {}
        """The open calls of these sessions that the tables hold."""

    def __missing__(self, stream_id: str) -> _Stream | None:
        """Read a session."""
        row = self._connection.execute(_FIND, (stream_id,)).fetchone()
        found = self[stream_id] = _Stream(**dict(zip(_STREAM_COLUMNS, row, strict=True))) if row else None
        for call_id, command, background in self._connection.execute(_OPEN, (stream_id,)):
            self.stored_calls[stream_id, call_id] = (command, bool(background))
        return found


class _Batch:
    """What some events touch, held in memory until all of them are folded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.streams = _Streams(connection)
        self.open_calls: dict[tuple[str, object], tuple[str, bool]] = {}
        self.attempts: list[tuple[object, ...]] = []
        self.taught: dict[str, int] = {}
        self._stored = self.streams.stored_calls
        self._closed: list[tuple[str, object]] = []
        self._heads: dict[str, Heads] = {}

    def take_call(self, stream_id: str, call_id: object) -> tuple[str, bool] | None:
        """Return the command of a call that came back, and whether it was left to run on."""
        key = (stream_id, call_id)
        held = self.open_calls.pop(key, None)
        if key in self._stored:
            self._closed.append(key)
            stored = self._stored.pop(key)
            return held or stored
        return held

    def attempted(self, stream_id: str, place: int, attempt: Attempt) -> None:
        """Take an attempt."""
        values = [stream_id, place, *attempt]
        values[_VARIABLES] = " ".join(attempt.variables)
        self.attempts.append(tuple(values))

    def heads(self, repository: str) -> Heads:
        """Return what proposals gave a purpose in a repository."""
        if repository not in self._heads:
            self._heads[repository] = heads_of(proposals_of(self.connection, repository))
        return self._heads[repository]

    def proposed(self) -> None:
        """Look at the proposals anew."""
        self._heads.clear()

    def write(self) -> None:
        """Write the tables."""
        write = self.connection.executemany
        write(_KEEP, [_STREAM_VALUES(one) for one in self.streams.values() if one is not None])
        write(_CLOSE, self._closed)
        write(_INSERT_OPEN, [(*key, *call) for key, call in self.open_calls.items()])
        write(_INSERT_ATTEMPT, self.attempts)
        write(_TAUGHT, self.taught.items())


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    batch = _Batch(connection)
    take_of = _TAKE.get
    for row in rows:
        take = take_of(row.topic)
        if take is not None:
            # Heads alone come of no topic that is taken.
            take(batch, row)  # type: ignore[arg-type]
    batch.write()


def _started(batch: _Batch, row: EventRow) -> None:
    data = row.data
    host, agent_id = str(data["host"]), str(data["agent_id"])
    batch.streams[row.stream_id] = _Stream(
        checkout=str(data["checkout"]),
        stays=stays_in_folder(host, agent_id),
        stream_id=row.stream_id,
        session=f"{host} {data['session_id']}",
        repository=str(data["repository"]),
        started_at=row.at,
        may_be_asked_about=not agent_id and not is_imported(row.stream_id),
    )


def _called(batch: _Batch, row: EventRow) -> None:
    data = row.data
    if data["kind"] == "shell" and data["command"]:
        call = (str(data["command"]), bool(data["background"]))
        batch.open_calls[row.stream_id, data["call_id"]] = call


def _returned(batch: _Batch, row: EventRow) -> None:
    stream = batch.streams[row.stream_id]
    if stream is None:
        return
    data = row.data
    call = batch.take_call(row.stream_id, data["call_id"])
    if call is not None:
        command, background = call
        heads = batch.heads(stream.repository)
        for place, attempt in attempts_in(stream, row.position, data, command, heads, background=background):
            batch.attempted(row.stream_id, place, attempt)
            if is_imported(row.stream_id):
                batch.taught[stream.repository] = row.position
    if data["written"]:
        stream.edits += 1


def _archived(batch: _Batch, row: EventRow) -> None:
    stream = batch.streams[row.stream_id]
    if stream is not None:
        stream.archived_at = row.at
        batch.taught[stream.repository] = row.position


def _side_call_made(batch: _Batch, row: EventRow) -> None:
    stream = batch.streams[str(row.data["side_call_id"])] if row.data["purpose"] == PURPOSE else None
    if stream is not None:
        stream.may_be_asked_about = False


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
    batch.proposed()
    batch.taught[repository] = row.position


def _repository_of(connection: sqlite3.Connection, stream_id: str) -> str:
    rows = connection.execute("SELECT repository FROM repositories WHERE stream_id = ?", (stream_id,))
    found = rows.fetchone()
    if found is None:
        message = "an event of a repository before the one that opens it"
        raise ValueError(message)
    return str(found[0])


def _proposed(batch: _Batch, row: EventRow) -> None:
    data = row.data
    if not data["command"]:
        return
    repository = _repository_of(batch.connection, row.stream_id)
    words = [str(data[name]) for name in ("fact_id", "purpose", "command", "instead_of")]
    if not batch.connection.execute(_PROPOSED, (repository, *words, row.position)).rowcount:
        return
    for place, attempt in shown_in(str(data["shown"])):
        batch.attempted(str(data["side_call_id"]), place, attempt)
    batch.proposed()
    batch.taught[repository] = row.position


def repositories_of(connection: sqlite3.Connection, repository: str) -> list[str]:
    """Return a repository's identity and all those that are linked with it."""
    found, waiting = {repository}, [repository]
    while waiting:
        name = waiting.pop()
        rows = connection.execute(
            "SELECT other FROM links WHERE repository = ? UNION SELECT repository FROM links WHERE other = ?",
            (name, name),
        )
        new = {str(other) for (other,) in rows} - found
        found |= new
        waiting += new
    return sorted(found)


def proposals_of(connection: sqlite3.Connection, repository: str) -> list[Proposal]:
    """Return what was proposed for a repository, or another one that it is linked with, in that order."""
    names = repositories_of(connection, repository)
    rows = connection.execute(
        f"""SELECT purpose, command, instead_of FROM proposals
        WHERE repository IN ({", ".join("?" for _ in names)}) ORDER BY position""",
        names,
    )
    return [Proposal(Purpose(purpose), str(command), str(other)) for purpose, command, other in rows]


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
    "microskills.fact_proposed": _proposed,
    "microskills.identity_linked": _linked,
    "setup.side_call_made": _side_call_made,
}

DECODED = frozenset(_TAKE)
