"""
The history in words: what happened, what was decided, and what caused it.

The view says which events belong to what; the words are made from the events themselves when they are asked
for, so that a rebuild decodes few of them and nothing is kept twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections.audit_words import UNDELIVERED, WORDS, words_of
from tokeneconomizer.projections.event_rows import EventRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.event_rows import FoldedRow

NAME = "audit"

SCHEMA = 1

CREATE = (
    # `stream` is the position of the stream's first event: a number that every rebuild gives again.
    """CREATE TABLE streams (
        stream INTEGER PRIMARY KEY,
        stream_id TEXT NOT NULL UNIQUE,
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        repository TEXT NOT NULL,
        checkout TEXT NOT NULL
    )""",
    """CREATE TABLE entries (
        position INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL,
        kind TEXT NOT NULL
    )""",
    # `delivered` is null where there was nothing to deliver.
    """CREATE TABLE decisions (
        stream INTEGER NOT NULL,
        stream_version INTEGER NOT NULL,
        position INTEGER NOT NULL,
        delivered INTEGER,
        PRIMARY KEY (stream, stream_version)
    ) WITHOUT ROWID""",
)

INDEXES = (
    "CREATE INDEX decisions_by_position ON decisions (position)",
    "CREATE INDEX streams_by_session ON streams (session_id)",
)

ENTRIES_SHOWN = 50
"""A list that a person reads; programs say how many they want."""

DECISIONS = frozenset(
    {
        "session.facts_injected",
        "session.gate_fired",
        "session.judge_asked",
        "session.verdict_given",
        "session.redirected",
        "session.stop_hinted",
        "session.delivery_failed",
        "microskills.block_rendered",
        "microskills.fact_pinned",
        "microskills.fact_retired_by_user",
        "microskills.fact_proposed",
        "microskills.identity_linked",
        "tool_prune.proposed",
        "tool_prune.deny_list_pended",
        "tool_prune.deny_list_written",
        "tool_prune.deny_list_refused",
        "tool_prune.deny_list_restored",
        "setup.changed",
        "setup.side_call_made",
        "setup.policy_set",
    }
)
"""What the program, its judge or its user decided; all else is what the agent did."""

FAILED = "session.delivery_failed"

# What a stream is about is told by the event that opens it.
DECODED = frozenset(
    {
        "session.started",
        "usage.opened",
        "microskills.opened",
        "tool_prune.opened",
        "setup.opened",
        FAILED,
    }
)

_INSERT_STREAM = "INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_ENTRY = "INSERT INTO entries VALUES (?, ?, ?)"
_INSERT_DECISION = "INSERT INTO decisions VALUES (?, ?, ?, ?)"
_TAKE_BACK = """UPDATE decisions SET delivered = 0
    WHERE stream = ? AND stream_version = ? AND position < ? AND delivered IS NOT NULL"""
_COLUMNS = """e.position, e.kind, d.position IS NOT NULL AS is_decision, d.delivered,
    s.stream_id, s.host, s.session_id, s.agent_id, s.repository, s.checkout"""
_ALL = f"""SELECT {_COLUMNS} FROM entries e JOIN streams s USING (stream)
    LEFT JOIN decisions d ON d.position = e.position"""
_DECISIONS = f"""SELECT {_COLUMNS} FROM decisions d JOIN entries e USING (position)
    JOIN streams s ON s.stream = e.stream"""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One event of the history.

    Attributes:
        position: of the event in the log; names it in `te audit explain`.
        at: ISO 8601 in UTC; empty where the event cannot be read any more.
        kind: the event's topic.
        summary: in words; they say so where the event cannot be read any more.
        is_decision: whether something was decided, rather than done by the agent.
        delivered: whether it reached the agent; None where there was nothing to deliver.
        delivery_id: the hook call that caused it, or empty.
        call_id: the tool call that it is about, or empty.
        stream_id: of the aggregate.
        stream_version: the event's number in the stream; 0 where it cannot be read any more.
        host: empty where it is about no agent in particular.
        session_id: empty where it is about none.
        agent_id: empty for the main agent.
        repository: its identity, or empty.
        checkout: its path, or empty.

    """

    position: int
    at: str
    kind: str
    summary: str
    is_decision: bool
    delivered: bool | None
    delivery_id: str
    call_id: str
    stream_id: str
    stream_version: int
    host: str
    session_id: str
    agent_id: str
    repository: str
    checkout: str


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    streams: dict[str, int] = {}
    entries: list[tuple[int, int, str]] = []
    decisions: list[tuple[int, int, int, int | None]] = []
    failed: list[tuple[int, object, int]] = []
    for row in rows:
        position, stream_id, version, topic = row[:4]
        stream = streams.get(stream_id)
        if stream is None:
            stream = streams[stream_id] = _stream_of(connection, row)
        if topic not in WORDS:
            message = f"this version has no words for {topic}"
            raise ValueError(message)
        entries.append((position, stream, topic))
        if topic in DECISIONS:
            decisions.append((stream, version, position, 1 if topic in UNDELIVERED else None))
            if topic == FAILED and isinstance(row, EventRow):
                failed.append((stream, row.data["failed_version"], position))
    connection.executemany(_INSERT_ENTRY, entries)
    connection.executemany(_INSERT_DECISION, decisions)
    connection.executemany(_TAKE_BACK, failed)


def entries(  # noqa: PLR0913 - the options of a list, all by name
    connection: sqlite3.Connection,
    log: EventLog,
    *,
    session: str | None = None,
    kind: str | None = None,
    decisions_only: bool = False,
    limit: int = ENTRIES_SHOWN,
    newest_first: bool = True,
) -> list[Entry]:
    """
    Return a part of the history.

    Args:
        connection: the view's.
        log: the events, for the words.
        session: the agent's session id; its sub-agents are part of it.
        kind: a topic.
        decisions_only: leave out what the agent did.
        limit: at most so many.
        newest_first: the order.

    Raises:
        StoreUnreachable: the events cannot be had now.

    """
    conditions: list[tuple[str, object]] = []
    if session is not None:
        conditions.append(("s.session_id = ?", session))
    if kind is not None:
        conditions.append(("e.kind = ?", kind))
    where = " AND ".join(condition for condition, _ in conditions) or "1"
    source, position = (_DECISIONS, "d.position") if decisions_only else (_ALL, "e.position")
    order = "DESC" if newest_first else "ASC"
    statement = f"{source} WHERE {where} ORDER BY {position} {order} LIMIT ?"
    rows = connection.execute(statement, (*(value for _, value in conditions), limit))
    return [_entry(row, log) for row in rows]


def entry(connection: sqlite3.Connection, log: EventLog, position: int) -> Entry | None:
    """Return the event at a position of the log."""
    row = connection.execute(f"{_ALL} WHERE e.position = ?", (position,)).fetchone()
    return None if row is None else _entry(row, log)


def _stream_of(connection: sqlite3.Connection, row: FoldedRow) -> int:
    """Return the stream's number; its first event tells what it is about."""
    found = connection.execute("SELECT stream FROM streams WHERE stream_id = ?", (row.stream_id,)).fetchone()
    if found is not None:
        return int(found[0])
    data = row.data if isinstance(row, EventRow) and row.stream_version == 1 else {}
    names = ("host", "session_id", "agent_id", "repository", "checkout")
    about = [data.get(name, "") for name in names]
    connection.execute(_INSERT_STREAM, (row.position, row.stream_id, *about))
    return row.position


def _entry(row: sqlite3.Row, log: EventLog) -> Entry:
    position, kind, is_decision, delivered, stream_id, *about = row
    try:
        event = log.event(position)
    except StoreDamaged:
        event = None
    fields: dict[str, object] = {}
    at, version, summary = "", 0, "the event cannot be read any more: see `te audit verify`"
    if isinstance(event, EventRow):
        fields, at, version = event.data, event.at, event.stream_version
        summary = words_of(kind, fields)
    host, session_id, agent_id, repository, checkout = about
    return Entry(
        position=position,
        at=at,
        kind=kind,
        summary=summary,
        is_decision=bool(is_decision),
        delivered=None if delivered is None else bool(delivered),
        delivery_id=str(fields.get("delivery_id", "")),
        call_id=str(fields.get("call_id", "")),
        stream_id=stream_id,
        stream_version=version,
        host=host,
        session_id=session_id,
        agent_id=agent_id,
        repository=repository,
        checkout=checkout,
    )
