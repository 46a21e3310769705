"""What entered each turn's context, and the tokens that the agent's own log reports: by turn and session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tokeneconomizer.projections.event_rows import EventHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow

NAME = "accounting"

SCHEMA = 1

CREATE = (
    """CREATE TABLE sessions (
        stream_id TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        agent_id TEXT NOT NULL
    ) WITHOUT ROWID""",
    # `snapshot` is null for a turn that was not accounted.
    """CREATE TABLE turns (
        stream_id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT NOT NULL,
        snapshot TEXT,
        PRIMARY KEY (stream_id, turn)
    ) WITHOUT ROWID""",
    """CREATE TABLE usage_streams (
        stream_id TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        session_id TEXT NOT NULL
    ) WITHOUT ROWID""",
    # A reply that grew is told once more: the newest event of its message holds.
    """CREATE TABLE replies (
        stream_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        at TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        input INTEGER,
        output INTEGER,
        cache_read INTEGER,
        cache_write INTEGER,
        PRIMARY KEY (stream_id, message_id)
    ) WITHOUT ROWID""",
)

INDEXES = (
    "CREATE INDEX accounted_turns ON turns (ended_at) WHERE snapshot IS NOT NULL",
    "CREATE INDEX sessions_by_id ON sessions (session_id)",
    "CREATE INDEX usage_streams_by_id ON usage_streams (session_id)",
    "CREATE INDEX replies_by_time ON replies (stream_id, at)",
)

_SESSION = "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)"
_TURN = "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, NULL)"
_SNAPSHOT = "UPDATE turns SET snapshot = ? WHERE stream_id = ? AND turn = ?"
_USAGE_STREAM = "INSERT OR REPLACE INTO usage_streams VALUES (?, ?, ?)"
_REPLY = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

_NEWEST_TURN = """SELECT s.host, s.session_id, t.turn, t.started_at, t.ended_at, t.snapshot
    FROM turns t JOIN sessions s USING (stream_id)
    WHERE t.snapshot IS NOT NULL AND s.agent_id = '' AND s.session_id = coalesce(?, s.session_id)
    ORDER BY t.ended_at DESC, s.stream_id, t.turn DESC LIMIT 1"""
_LAST_REPLY = """SELECT r.input, r.output, r.cache_read, r.cache_write
    FROM replies r JOIN usage_streams u USING (stream_id)
    WHERE u.host = ? AND u.session_id = ? AND r.agent_id = '' AND r.at BETWEEN ? AND ?
    ORDER BY r.at DESC, r.message_id DESC LIMIT 1"""
_SUMS = """SELECT count(*), sum(r.input), sum(r.output), sum(r.cache_read), sum(r.cache_write)
    FROM replies r JOIN usage_streams u USING (stream_id)
    WHERE u.host = ? AND u.session_id = ?"""
_ACCOUNTED = """SELECT count(*) FROM turns t JOIN sessions s USING (stream_id)
    WHERE t.snapshot IS NOT NULL AND s.host = ? AND s.session_id = ?"""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """Tokens as the agent's log reports them; None is what it does not say."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None


@dataclass(frozen=True, slots=True)
class AccountedTurn:
    """
    One turn of a main agent.

    Attributes:
        ended_at: ISO 8601 in UTC.
        snapshot: what entered its context, in the contract's JSON form.
        usage: what its last model reply reported; None while the log told none.

    """

    host: str
    session_id: str
    turn: int
    ended_at: str
    snapshot: str
    usage: ReportedUsage | None


@dataclass(frozen=True, slots=True)
class SessionSums:
    """
    A session as a whole, with its sub-agents.

    Attributes:
        turns: those that were accounted.
        replies: model replies whose tokens the log reported.
        usage: their sums; None where no reply says.

    """

    turns: int
    replies: int
    usage: ReportedUsage


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    for row in rows:
        if isinstance(row, EventHead):
            continue
        statement, values = _TAKE[row.topic](row)
        connection.execute(statement, values)


def newest_turn(connection: sqlite3.Connection, session_id: str | None = None) -> AccountedTurn | None:
    """Return the newest accounted turn, of one session if named."""
    row = connection.execute(_NEWEST_TURN, (session_id,)).fetchone()
    if row is None:
        return None
    host, session, turn, started_at, ended_at, snapshot = row
    reply = connection.execute(_LAST_REPLY, (host, session, started_at, ended_at)).fetchone()
    usage = None if reply is None else ReportedUsage(*reply)
    return AccountedTurn(host, session, turn, ended_at, snapshot, usage)


def session_sums(connection: sqlite3.Connection, host: str, session_id: str) -> SessionSums:
    """Return the sums of a session."""
    replies, *sums = connection.execute(_SUMS, (host, session_id)).fetchone()
    turns = connection.execute(_ACCOUNTED, (host, session_id)).fetchone()[0]
    return SessionSums(turns, replies, ReportedUsage(*sums))


Change = tuple[str, tuple[object, ...]]


def _started(row: EventRow) -> Change:
    about = (str(row.data[name]) for name in ("host", "session_id", "agent_id"))
    return _SESSION, (row.stream_id, *about)


def _turn_ended(row: EventRow) -> Change:
    elapsed = timedelta(milliseconds=_whole(row, "duration_ms"))
    started_at = (datetime.fromisoformat(row.at) - elapsed).isoformat()
    return _TURN, (row.stream_id, _whole(row, "turn"), started_at, row.at)


def _accounted(row: EventRow) -> Change:
    return _SNAPSHOT, (str(row.data["snapshot"]), row.stream_id, _whole(row, "turn"))


def _usage_opened(row: EventRow) -> Change:
    return _USAGE_STREAM, (row.stream_id, str(row.data["host"]), str(row.data["session_id"]))


def _usage_recorded(row: EventRow) -> Change:
    data = row.data
    writes = [data[name] for name in ("cache_write_5m_tokens", "cache_write_1h_tokens")]
    told = [tokens for tokens in writes if isinstance(tokens, int)]
    return _REPLY, (
        row.stream_id,
        str(data["message_id"]),
        row.at,
        str(data["sub_agent"]),
        data["input_tokens"],
        data["output_tokens"],
        data["cache_read_tokens"],
        sum(told) if told else None,
    )


def _whole(row: EventRow, name: str) -> int:
    value = row.data[name]
    if not isinstance(value, int):
        message = f"{name} is {value!r}, no whole number"
        raise TypeError(message)
    return value


_TAKE: dict[str, Callable[[EventRow], Change]] = {
    "session.started": _started,
    "session.turn_ended": _turn_ended,
    "session.context_accounted": _accounted,
    "usage.opened": _usage_opened,
    "usage.recorded": _usage_recorded,
}

DECODED = frozenset(_TAKE)
