"""The counters of `te status`: per host, repository and day, and where each session stands."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.limits import STUCK
from tokeneconomizer.domain.stream_ids import is_imported
from tokeneconomizer.projections.event_rows import EventHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow


@dataclass(frozen=True, slots=True)
class Counts:
    """
    What happened, counted; redirects, hints and injections that never reached the agent are left out.

    Attributes:
        failed: calls that failed.
        never_ran: calls that were denied or cut off before they ran.
        steps: model replies that called tools.
        turns_unverified: turns that ended with no test run to tell.
        gates: turns that passed the gate.
        verdicts_stuck: of the judge's verdicts those that say so.

    """

    sessions: int = 0
    sub_agents: int = 0
    prompts_human: int = 0
    prompts_machine: int = 0
    calls: int = 0
    failed: int = 0
    never_ran: int = 0
    steps: int = 0
    turns_green: int = 0
    turns_unverified: int = 0
    turns_red: int = 0
    redirects: int = 0
    hints: int = 0
    gates: int = 0
    judge_calls: int = 0
    verdicts: int = 0
    verdicts_stuck: int = 0
    injections: int = 0
    delivery_failures: int = 0
    compactions: int = 0


@dataclass(frozen=True, slots=True)
class RepositoryCounts:
    """The counts of one repository, over all hosts or the one that was asked for."""

    repository: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class SessionLine:
    """
    Where one session of a main agent stands.

    Attributes:
        state: as `tokeneconomizer.domain.session.Phase`.
        started_at: ISO 8601 in UTC, of the first event.
        last_at: ISO 8601 in UTC, of the newest event.
        turn: number of the newest turn, 0 before the first.
        turn_is_open: whether the agent is at work in it.

    """

    host: str
    session_id: str
    repository: str
    checkout: str
    state: str
    started_at: str
    last_at: str
    turn: int
    turn_is_open: bool


NO_DAY = "-"
"""No time begins with it."""


@dataclass(slots=True)
class _Session:
    """
    A row of `sessions`; `step` and `redirects` are those of the open turn.

    Attributes:
        day, counts: no columns, but where this batch counts the event at hand.

    """

    stream_id: str
    host: str
    session_id: str
    agent_id: str
    repository: str
    checkout: str
    started_at: str
    last_at: str
    state: str = "idle"
    turn: int = 0
    turn_is_open: bool = False
    step: int = 0
    redirects: int = 0
    day: str = NO_DAY
    counts: dict[str, int] = field(default_factory=dict)


NAME = "counters"

SCHEMA = 2

_COUNTED = tuple(field.name for field in fields(Counts))
_SESSION_COLUMNS = tuple(field.name for field in fields(_Session) if field.name not in {"day", "counts"})
_columns_of = attrgetter(*_SESSION_COLUMNS)

CREATE = (
    f"""CREATE TABLE counts (
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        day TEXT NOT NULL,
        {", ".join(f"{name} INTEGER NOT NULL" for name in _COUNTED)},
        PRIMARY KEY (host, repository, day)
    ) WITHOUT ROWID""",
    """CREATE TABLE sessions (
        stream_id TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        session_id TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        repository TEXT NOT NULL,
        checkout TEXT NOT NULL,
        started_at TEXT NOT NULL,
        last_at TEXT NOT NULL,
        state TEXT NOT NULL,
        turn INTEGER NOT NULL,
        turn_is_open INTEGER NOT NULL,
        step INTEGER NOT NULL,
        redirects INTEGER NOT NULL
    ) WITHOUT ROWID""",
    # What was said, in case that its delivery turns out to have failed.
    """CREATE TABLE said (
        stream_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        counter TEXT NOT NULL,
        day TEXT NOT NULL,
        turn INTEGER NOT NULL,
        rule TEXT NOT NULL,
        PRIMARY KEY (stream_id, version)
    ) WITHOUT ROWID""",
    """CREATE TABLE redirects_by_rule (
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        rule TEXT NOT NULL,
        redirects INTEGER NOT NULL,
        PRIMARY KEY (host, repository, rule)
    ) WITHOUT ROWID""",
)

INDEXES = (
    "CREATE INDEX main_sessions ON sessions (last_at) WHERE agent_id = ''",
    "CREATE INDEX unarchived ON sessions (last_at) WHERE state != 'archived'",
)

SESSIONS_SHOWN = 10
"""A list that a person reads; programs say how many they want."""

DAY_CHARACTERS = len("2026-01-31")

_ADD = f"""INSERT INTO counts VALUES (?, ?, ?, {", ".join("?" for _ in _COUNTED)})
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in _COUNTED)}"""
_KEEP = f"INSERT OR REPLACE INTO sessions VALUES ({', '.join('?' for _ in _SESSION_COLUMNS)})"
_FIND = f"SELECT {', '.join(_SESSION_COLUMNS)} FROM sessions WHERE stream_id = ?"
_SAID = "SELECT counter, day, turn, rule FROM said WHERE stream_id = ? AND version = ?"
_BY_RULE = """INSERT INTO redirects_by_rule VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET redirects = redirects + excluded.redirects"""
_SUMS = ", ".join(f"coalesce(sum({name}), 0)" for name in _COUNTED)
_SESSION_FIELDS = ", ".join(field.name for field in fields(SessionLine))

_TURNS_ENDED = {"green": "turns_green", "unverified": "turns_unverified", "red": "turns_red"}
_PROMPTS = {"human": "prompts_human", "machine": "prompts_machine"}
_RETURNED = {"failed": "failed", "never_ran": "never_ran"}


class _Batch:
    """The rows that some events touch, held in memory until all of them are folded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.sessions: dict[str, _Session] = {}
        self._counts: dict[tuple[str, str, str], dict[str, int]] = {}

    def session(self, row: EventRow) -> _Session:
        """Fetch the session that the event belongs to; its first event tells what it is about."""
        found = self.connection.execute(_FIND, (row.stream_id,)).fetchone()
        session = self.sessions[row.stream_id] = _Session(*found) if found else _new_session(row)
        return session

    def counts(self, session: _Session, day: str) -> dict[str, int]:
        """Return the counters of the session's host and repository on a day, to add to."""
        key = (session.host, session.repository, day)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = dict.fromkeys(_COUNTED, 0)
        return counts

    def write(self) -> None:
        """Add to the tables."""
        self.connection.executemany(_KEEP, map(_columns_of, self.sessions.values()))
        self.connection.executemany(_ADD, [(*key, *counts.values()) for key, counts in self._counts.items()])


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    batch = _Batch(connection)
    sessions = batch.sessions
    for row in rows:
        if isinstance(row, EventHead):
            continue
        session = sessions.get(row.stream_id)
        if session is None:
            # History was neither heard nor answered.
            if is_imported(row.stream_id):
                continue
            session = batch.session(row)
        at = row.at
        # Spooled events, and calls that no hook told, come late: time does not always go forward in the log.
        if at > session.last_at:  # noqa: PLR1730 - once for each event, and calling `max` takes longer
            session.last_at = at
        if not at.startswith(session.day):
            session.day = at[:DAY_CHARACTERS]
            session.counts = batch.counts(session, session.day)
        _TAKE[row.topic](batch, session, row)
    batch.write()


def totals(connection: sqlite3.Connection, host: str | None = None, repository: str | None = None) -> Counts:
    """Return the counts over all days, of one host or repository if named."""
    row = connection.execute(
        f"SELECT {_SUMS} FROM counts WHERE host = coalesce(?, host) AND repository = coalesce(?, repository)",
        (host, repository),
    ).fetchone()
    return Counts(*row)


def redirects_by_rule(connection: sqlite3.Connection) -> dict[str, int]:
    """Return how many redirects each rule brought, the most first; those that never arrived are left out."""
    rows = connection.execute(
        "SELECT rule, sum(redirects) FROM redirects_by_rule GROUP BY rule "
        "HAVING sum(redirects) > 0 ORDER BY sum(redirects) DESC, rule"
    )
    return {str(rule): int(redirects) for rule, redirects in rows}


def by_repository(connection: sqlite3.Connection, host: str | None = None) -> list[RepositoryCounts]:
    """Return the counts of each repository over all days, by name."""
    rows = connection.execute(
        f"SELECT repository, {_SUMS} FROM counts WHERE host = coalesce(?, host) "
        "GROUP BY repository ORDER BY repository",
        (host,),
    )
    return [RepositoryCounts(row[0], Counts(*row[1:])) for row in map(tuple, rows)]


def sessions(connection: sqlite3.Connection, limit: int = SESSIONS_SHOWN) -> list[SessionLine]:
    """Return the main agents' sessions, the one with the newest event first."""
    rows = connection.execute(
        f"SELECT {_SESSION_FIELDS} FROM sessions WHERE agent_id = '' "
        "ORDER BY last_at DESC, stream_id LIMIT ?",
        (limit,),
    )
    lines = ((*row[:-1], bool(row[-1])) for row in map(tuple, rows))
    return [SessionLine(*line) for line in lines]


def silent_since(connection: sqlite3.Connection, moment: str) -> list[str]:
    """Return the streams, sub-agents' too, that are not archived and were last heard before the moment."""
    rows = connection.execute(
        "SELECT stream_id FROM sessions WHERE state != 'archived' AND last_at < ?", (moment,)
    )
    return [stream_id for (stream_id,) in rows]


def are_all_archived(connection: sqlite3.Connection) -> bool:
    """Return whether nothing more is expected of any session."""
    return connection.execute("SELECT 1 FROM sessions WHERE state != 'archived' LIMIT 1").fetchone() is None


def _new_session(row: EventRow) -> _Session:
    is_first = row.topic == "session.started"
    names = ("host", "session_id", "agent_id", "repository", "checkout")
    about = {name: str(row.data[name]) if is_first else "" for name in names}
    return _Session(stream_id=row.stream_id, started_at=row.at, last_at=row.at, **about)  # type: ignore[arg-type]


def _integer(row: EventRow, name: str) -> int:
    value = row.data[name]
    if not isinstance(value, int):
        message = f"{name} is {value!r}, no whole number"
        raise TypeError(message)
    return value


def _open_turn(session: _Session, row: EventRow) -> None:
    session.turn = _integer(row, "turn")
    session.turn_is_open = True
    session.step = session.redirects = 0
    session.state = "working"


def _say(batch: _Batch, session: _Session, row: EventRow, counter: str, rule: str = "") -> None:
    session.counts[counter] += 1
    batch.connection.execute(
        "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)",
        (row.stream_id, row.stream_version, counter, session.day, session.turn, rule),
    )


def _started(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.counts["sub_agents" if session.agent_id else "sessions"] += 1


def _resumed(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.state = "working" if session.turn_is_open else "idle"


def _facts_injected(batch: _Batch, session: _Session, row: EventRow) -> None:
    _say(batch, session, row, "injections")


def _prompt_submitted(_batch: _Batch, session: _Session, row: EventRow) -> None:
    _open_turn(session, row)
    session.counts[_PROMPTS[str(row.data["kind"])]] += 1


def _tool_called(_batch: _Batch, session: _Session, row: EventRow) -> None:
    if not session.turn_is_open and _integer(row, "turn") > session.turn:
        _open_turn(session, row)
    counts = session.counts
    counts["calls"] += 1
    if row.data["step"] != session.step:
        session.step = _integer(row, "step")
        counts["steps"] += 1


def _tool_returned(_batch: _Batch, session: _Session, row: EventRow) -> None:
    status = row.data["status"]
    if status != "ok":
        session.counts[_RETURNED[str(status)]] += 1


def _redirected(batch: _Batch, session: _Session, row: EventRow) -> None:
    rule = str(row.data["rule"])
    _say(batch, session, row, "redirects", rule)
    batch.connection.execute(_BY_RULE, (session.host, session.repository, rule, 1))
    session.redirects += 1
    session.state = "redirected"


def _gate_fired(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.counts["gates"] += 1


def _judge_asked(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.counts["judge_calls"] += 1


def _verdict_given(_batch: _Batch, session: _Session, row: EventRow) -> None:
    session.counts["verdicts"] += 1
    session.counts["verdicts_stuck"] += row.data["verdict"] == STUCK


def _stop_hinted(batch: _Batch, session: _Session, row: EventRow) -> None:
    _say(batch, session, row, "hints")
    session.state = "stuck"


def _delivery_failed(batch: _Batch, session: _Session, row: EventRow) -> None:
    session.counts["delivery_failures"] += 1
    which = (row.stream_id, _integer(row, "failed_version"))
    said = batch.connection.execute(_SAID, which).fetchone()
    if said is not None:
        # Forgotten, so that the same words are not taken back twice.
        batch.connection.execute("DELETE FROM said WHERE stream_id = ? AND version = ?", which)
        counter, day, turn, rule = said
        batch.counts(session, day)[counter] -= 1
        if rule:
            batch.connection.execute(_BY_RULE, (session.host, session.repository, rule, -1))
        if counter == "redirects" and turn == session.turn and session.redirects:
            session.redirects -= 1
    if session.turn_is_open:
        session.state = "redirected" if session.redirects else "working"


def _compacted(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.counts["compactions"] += 1


def _turn_ended(_batch: _Batch, session: _Session, row: EventRow) -> None:
    session.counts[_TURNS_ENDED[str(row.data["outcome"])]] += 1
    session.turn = _integer(row, "turn")
    session.turn_is_open = False
    session.step = session.redirects = 0
    session.state = "idle"


def _ended(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.state = "ended"


def _archived(_batch: _Batch, session: _Session, _row: EventRow) -> None:
    session.state = "archived"


def _touched(_batch: _Batch, _session: _Session, _row: EventRow) -> None:
    """Nothing to count: the session is only seen to live."""


_TAKE: dict[str, Callable[[_Batch, _Session, EventRow], None]] = {
    "session.started": _started,
    "session.resumed": _resumed,
    "session.facts_injected": _facts_injected,
    "session.prompt_submitted": _prompt_submitted,
    "session.tool_called": _tool_called,
    "session.tool_returned": _tool_returned,
    "session.step_ended": _touched,
    "session.gate_fired": _gate_fired,
    "session.judge_asked": _judge_asked,
    "session.verdict_given": _verdict_given,
    "session.redirected": _redirected,
    "session.stop_hinted": _stop_hinted,
    "session.delivery_failed": _delivery_failed,
    "session.compacted": _compacted,
    "session.turn_ended": _turn_ended,
    "session.context_accounted": _touched,
    "session.ended": _ended,
    "session.archived": _archived,
}

DECODED = frozenset(_TAKE)
