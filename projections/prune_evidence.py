"""
What tools were used, per repository and agent, and where each checkout's deny list stands.

Prompts and uses are kept with their times, since imported history comes in later than what is newer. A use is
any attempt. A prompt counts when a person made it for a main agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.deny_list import GIT_LIST
from tokeneconomizer.domain.prune_evidence import CACHED_S_MAX
from tokeneconomizer.domain.stream_ids import is_imported
from tokeneconomizer.projections.event_rows import EventHead

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from tokeneconomizer.projections.event_rows import EventRow, FoldedRow

NAME = "prune_evidence"

SCHEMA = 2

CREATE = (
    """CREATE TABLE sessions (
        stream_id TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        checkout TEXT NOT NULL,
        is_main INTEGER NOT NULL,
        is_archived INTEGER NOT NULL,
        last_at TEXT NOT NULL,
        cached_s REAL NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE prompts (
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        at TEXT NOT NULL,
        stream_id TEXT NOT NULL,
        turn INTEGER NOT NULL,
        PRIMARY KEY (host, repository, at, stream_id, turn)
    ) WITHOUT ROWID""",
    """CREATE TABLE uses (
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        tool TEXT NOT NULL,
        server TEXT NOT NULL,
        stream_id TEXT NOT NULL,
        uses INTEGER NOT NULL,
        last_at TEXT NOT NULL,
        PRIMARY KEY (host, repository, tool, server, stream_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE named (
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        tool TEXT NOT NULL,
        last_at TEXT NOT NULL,
        PRIMARY KEY (host, repository, tool)
    ) WITHOUT ROWID""",
    """CREATE TABLE lists (
        stream_id TEXT PRIMARY KEY,
        host TEXT NOT NULL,
        repository TEXT NOT NULL,
        checkout TEXT NOT NULL,
        state TEXT NOT NULL,
        agent_version TEXT NOT NULL,
        catalog TEXT NOT NULL,
        catalog_at TEXT NOT NULL,
        names TEXT NOT NULL,
        approved_by TEXT NOT NULL,
        approved_at TEXT NOT NULL,
        written TEXT NOT NULL,
        written_at TEXT NOT NULL,
        refusal TEXT NOT NULL,
        detail TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE restored (
        stream_id TEXT NOT NULL,
        name TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (stream_id, name)
    ) WITHOUT ROWID""",
)

INDEXES = ("CREATE INDEX activity ON sessions (repository, last_at)",)

SEPARATOR = "\n"
"""Between the names of a list; no name holds it."""


class ListLine(NamedTuple):
    """
    Where the deny list of an agent in a checkout stands.

    Attributes:
        state: as `tokeneconomizer.domain.tool_prune.PruneState`.
        catalog: canonical JSON, as the event has it.
        names_joined: of the newest proposal, or of the list that was approved.
        approved_at: ISO 8601 in UTC; empty while no list is pending.
        written_joined: the names that stand in the agent's file.
        refusal, detail: why the newest change of a file was refused, until one succeeds.

    """

    stream_id: str
    host: str
    repository: str
    checkout: str
    state: str
    agent_version: str
    catalog: str
    catalog_at: str
    names_joined: str
    approved_by: str
    approved_at: str
    written_joined: str
    written_at: str
    refusal: str
    detail: str

    @property
    def names(self) -> list[str]:
        """The names of the newest proposal, or of the list that was approved."""
        return _names(self.names_joined)

    @property
    def written(self) -> list[str]:
        """The names that stand in the agent's file."""
        return _names(self.written_joined)


class PromptLine(NamedTuple):
    """A prompt of a person."""

    session: str
    at: str


class UseLine(NamedTuple):
    """
    The uses of one tool in one session.

    Attributes:
        is_open: whether that session may still be resumed as it stands.

    """

    tool: str
    server: str
    uses: int
    last_at: str
    is_open: bool


class _About(NamedTuple):
    """What a session's events are counted under."""

    host: str
    repository: str
    is_main: bool


class _Sessions(dict[str, "_About | None"]):
    """What streams' sessions are about, read when asked for; None of one whose beginning cannot be read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, stream_id: str) -> _About | None:
        """Read a session."""
        row = self._connection.execute(
            "SELECT host, repository, is_main FROM sessions WHERE stream_id = ?", (stream_id,)
        ).fetchone()
        found = self[stream_id] = _About(row[0], row[1], bool(row[2])) if row else None
        return found


class _Batch:
    """What some events come to, held in memory until all of them are folded."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.heard: dict[str, str] = {}
        self.prompts: list[tuple[object, ...]] = []
        self.named: dict[tuple[str, str, str], str] = {}
        self.uses: dict[tuple[str, str, object, object, str], tuple[int, str]] = {}
        self.about = _Sessions(connection)

    def write(self) -> None:
        """Add to the tables."""
        many = self.connection.executemany
        many("UPDATE sessions SET last_at = max(last_at, ?2) WHERE stream_id = ?1", list(self.heard.items()))
        many("INSERT OR IGNORE INTO prompts VALUES (?, ?, ?, ?, ?)", self.prompts)
        many(
            "INSERT INTO named VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET last_at = max(last_at, excluded.last_at)",
            [(*key, at) for key, at in self.named.items()],
        )
        many(
            "INSERT INTO uses VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "uses = uses + excluded.uses, last_at = max(last_at, excluded.last_at)",
            [(*key, *value) for key, value in self.uses.items()],
        )


def fold(connection: sqlite3.Connection, rows: Iterable[FoldedRow]) -> None:
    """Take the next events, in order."""
    batch = _Batch(connection)
    heard = batch.heard
    for row in rows:
        if isinstance(row, EventHead):
            continue
        topic = row.topic
        if topic in _ACTIVITY:
            at, stream_id = row.at, row.stream_id
            if at > heard.get(stream_id, ""):
                heard[stream_id] = at
        _TAKE[topic](batch, row)
    batch.write()


def lists(connection: sqlite3.Connection) -> list[ListLine]:
    """Return all deny lists, by host and checkout."""
    return [ListLine(*row) for row in connection.execute("SELECT * FROM lists ORDER BY host, checkout")]


def are_lists_pending(connection: sqlite3.Connection) -> bool:
    """Return whether a list waits to be written."""
    return connection.execute("SELECT 1 FROM lists WHERE approved_at != '' LIMIT 1").fetchone() is not None


def prompts(connection: sqlite3.Connection, host: str, repository: str) -> list[PromptLine]:
    """Return the prompts of a repository's sessions with an agent, the oldest first."""
    rows = connection.execute(
        "SELECT stream_id, at FROM prompts WHERE host = ? AND repository = ? ORDER BY at", (host, repository)
    )
    return [PromptLine(*row) for row in rows]


def uses(connection: sqlite3.Connection, host: str, repository: str) -> list[UseLine]:
    """Return the tools that were used in a repository, by session."""
    rows = connection.execute(
        "SELECT tool, server, uses, uses.last_at, coalesce(is_archived, 1) FROM uses "
        "LEFT JOIN sessions USING (stream_id) WHERE uses.host = ? AND uses.repository = ?",
        (host, repository),
    )
    return [UseLine(tool, server, uses, at, not is_archived) for tool, server, uses, at, is_archived in rows]


def named(connection: sqlite3.Connection, host: str, repository: str) -> dict[str, str]:
    """Return the tools that prompts asked for by name, each with the time of the newest one."""
    rows = connection.execute(
        "SELECT tool, last_at FROM named WHERE host = ? AND repository = ?", (host, repository)
    )
    return dict(map(tuple, rows))


def restored(connection: sqlite3.Connection, stream_id: str) -> dict[str, str]:
    """Return the names that were taken back in a checkout, each with the time."""
    return dict(
        map(tuple, connection.execute("SELECT name, at FROM restored WHERE stream_id = ?", (stream_id,)))
    )


def checkouts(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Return (host, repository, checkout) of all that main agents worked in."""
    rows = connection.execute(
        "SELECT DISTINCT host, repository, checkout FROM sessions WHERE is_main AND checkout != '' "
        "ORDER BY host, checkout"
    )
    return [(str(row[0]), str(row[1]), str(row[2])) for row in rows]


def last_activity(connection: sqlite3.Connection, repository: str) -> str:
    """Return when a repository's newest event happened, with whatever agent; empty when there is none."""
    (newest,) = connection.execute(
        "SELECT coalesce(max(last_at), '') FROM sessions WHERE repository = ?", (repository,)
    ).fetchone()
    return str(newest)


def longest_cached_s(connection: sqlite3.Connection, host: str, repository: str) -> float:
    """Return after how long a silence an agent still found its prompt cache when a session was resumed."""
    (longest,) = connection.execute(
        "SELECT coalesce(max(cached_s), 0) FROM sessions WHERE host = ? AND repository = ?",
        (host, repository),
    ).fetchone()
    return float(longest)


def _names(joined: object) -> list[str]:
    return str(joined).split(SEPARATOR) if joined else []


def _joined(value: object) -> str:
    return SEPARATOR.join(map(str, value)) if isinstance(value, list) else ""


def _session_started(batch: _Batch, row: EventRow) -> None:
    about = [row.data[name] for name in ("host", "repository", "checkout")]
    # Nobody knows of history whether it goes on: what is alive is heard.
    values = (row.stream_id, *about, not row.data["agent_id"], is_imported(row.stream_id), row.at)
    batch.connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, 0)", values)
    # It is looked up anew.
    batch.about.pop(row.stream_id, None)
    # What came before the beginning is not of this session.
    batch.heard[row.stream_id] = row.at


def _heard(_batch: _Batch, _row: EventRow) -> None:
    """Take nothing but the time."""


def _resumed(batch: _Batch, row: EventRow) -> None:
    silent_s = row.data["seconds_since_last_response"]
    is_cached = row.data["cache_expired"] is False
    cached_s = silent_s if is_cached and isinstance(silent_s, int | float) and silent_s < CACHED_S_MAX else 0
    batch.connection.execute(
        "UPDATE sessions SET is_archived = 0, cached_s = max(cached_s, ?) WHERE stream_id = ?",
        (cached_s, row.stream_id),
    )


def _archived(batch: _Batch, row: EventRow) -> None:
    batch.connection.execute("UPDATE sessions SET is_archived = 1 WHERE stream_id = ?", (row.stream_id,))


def _prompted(batch: _Batch, row: EventRow) -> None:
    about = batch.about[row.stream_id]
    if about is None or not about.is_main or row.data["kind"] != "human":
        return
    batch.prompts.append((about.host, about.repository, row.at, row.stream_id, row.data["turn"]))
    tools_named = row.data["tools_named"]
    for name in tools_named if isinstance(tools_named, list) else []:
        key = (about.host, about.repository, str(name))
        batch.named[key] = max(row.at, batch.named.get(key, ""))


def _called(batch: _Batch, row: EventRow) -> None:
    about = batch.about[row.stream_id]
    if about is None:
        return
    key = (about.host, about.repository, row.data["tool"], row.data["server"], row.stream_id)
    number, last_at = batch.uses.get(key, (0, ""))
    batch.uses[key] = (number + 1, max(row.at, last_at))


def _list_opened(batch: _Batch, row: EventRow) -> None:
    about = (row.stream_id, row.data["host"], row.data["repository"], row.data["checkout"])
    batch.connection.execute(
        "INSERT OR REPLACE INTO lists VALUES "
        "(?, ?, ?, ?, 'observing', '', '[]', '', '', '', '', '', '', '', '')",
        about,
    )


def _set(batch: _Batch, row: EventRow, **values: object) -> None:
    columns = ", ".join(f"{column} = ?" for column in values)
    batch.connection.execute(
        f"UPDATE lists SET {columns} WHERE stream_id = ?", (*values.values(), row.stream_id)
    )


def _catalog_recorded(batch: _Batch, row: EventRow) -> None:
    about = {"agent_version": row.data["agent_version"], "catalog": row.data["catalog"]}
    _set(batch, row, **about, catalog_at=row.at)


def _proposed(batch: _Batch, row: EventRow) -> None:
    names = _joined(row.data["names"])
    _set(batch, row, state="proposed", names=names, approved_by="", approved_at="")


def _pended(batch: _Batch, row: EventRow) -> None:
    approved = {"approved_by": row.data["approved_by"], "approved_at": row.at}
    _set(
        batch,
        row,
        state="pending",
        names=_joined(row.data["names"]),
        **approved,
        refusal="",
        detail="",
    )


def _written(batch: _Batch, row: EventRow) -> None:
    before = _written_names(batch, row)
    names = row.data["names"] if isinstance(row.data["names"], list) else []
    after = [*before, *(name for name in names if name not in before)]
    done = {"state": "written", "written": _joined(after), "written_at": row.at, "refusal": "", "detail": ""}
    # Others that were approved go on waiting.
    waiting = [name for name in _listed(batch, row, "names") if name not in names]
    approval = {} if waiting else {"approved_by": "", "approved_at": ""}
    _set(batch, row, **done, names=_joined(waiting), **approval)


def _refused(batch: _Batch, row: EventRow) -> None:
    _set(batch, row, refusal=row.data["reason"], detail=row.data["detail"])
    if row.data["file"] != GIT_LIST:
        _set(batch, row, state="refused")


def _restored(batch: _Batch, row: EventRow) -> None:
    names = row.data["names"] if isinstance(row.data["names"], list) else []
    left = [name for name in _written_names(batch, row) if name not in names]
    _set(batch, row, state="restored", written=_joined(left), refusal="", detail="")
    batch.connection.executemany(
        "INSERT OR REPLACE INTO restored VALUES (?, ?, ?)", [(row.stream_id, name, row.at) for name in names]
    )


def _written_names(batch: _Batch, row: EventRow) -> list[str]:
    return _listed(batch, row, "written")


def _listed(batch: _Batch, row: EventRow, column: str) -> list[str]:
    found = batch.connection.execute(
        f"SELECT {column} FROM lists WHERE stream_id = ?", (row.stream_id,)
    ).fetchone()
    return _names(found[0]) if found else []


_TAKE: dict[str, Callable[[_Batch, EventRow], None]] = {
    "session.started": _session_started,
    "session.resumed": _resumed,
    "session.prompt_submitted": _prompted,
    "session.tool_called": _called,
    "session.tool_returned": _heard,
    "session.turn_ended": _heard,
    "session.ended": _heard,
    "session.archived": _archived,
    "tool_prune.opened": _list_opened,
    "tool_prune.catalog_recorded": _catalog_recorded,
    "tool_prune.proposed": _proposed,
    "tool_prune.deny_list_pended": _pended,
    "tool_prune.deny_list_written": _written,
    "tool_prune.deny_list_refused": _refused,
    "tool_prune.deny_list_restored": _restored,
}

_ACTIVITY = frozenset(topic for topic in _TAKE if topic.startswith("session.")) - {"session.archived"}
"""That a session is put away, hours after its last word, is our doing."""

DECODED = frozenset(_TAKE)
