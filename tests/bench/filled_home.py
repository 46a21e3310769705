"""
A home with many stored events, made quickly: real sessions told once, and stored again under other names.

Rows go straight into the table, with a valid chain; each view is folded up to the last of them.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import uuid
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from agent_work import AgentWork

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.building import build
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.hook_calls import HookCall, HookCalls
from tokeneconomizer.scheduler.store import EventStore, chain_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_work import HookMoment

SESSIONS_TOLD = 20
HOOK_CALLS_PER_SESSION = 70
ROWS_PER_TRANSACTION = 20_000
# As long as a session's id, so that replacing it changes no length.
PLACEHOLDER = "told-{:04}"

Row = tuple[str, int, str, bytes]


def quiet_log() -> structlog.stdlib.BoundLogger:
    """Return a log that drops what it is told."""
    log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        None, processors=[_drop], wrapper_class=structlog.stdlib.BoundLogger
    )
    return log


def _drop(*_: object) -> dict[str, object]:
    raise structlog.DropEvent


def hook_call(moment: HookMoment, delivery_id: str, time_ns: int) -> HookCall:
    """Return the call that the hook client would make."""
    return HookCall("claude_code", moment.event, "plugin", time_ns, delivery_id, moment.payload)


def told_sessions() -> list[list[Row]]:
    """Return the rows of some sessions as the program stores them, each a list."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.create()
        parts = build(home, quiet_log())
        calls = HookCalls(parts.application, quiet_log(), lambda: datetime.now(UTC))
        time_ns = int(datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp()) * 1_000_000_000
        for number in range(SESSIONS_TOLD):
            chance = random.Random(number)  # noqa: S311 - work drawn by chance, no secret
            work = AgentWork(chance, PLACEHOLDER.format(number), Path(folder) / "log.jsonl")
            moments = [*work.begin(), *islice(work.turns(), HOOK_CALLS_PER_SESSION), work.end()]
            for moment in moments:
                time_ns += 2_000_000_000
                calls.answer(hook_call(moment, f"{time_ns:032x}", time_ns))
        parts.store.close()
        return _rows_by_stream(home.events)


def _rows_by_stream(path: Path) -> list[list[Row]]:
    connection = sqlite3.connect(path)
    streams: dict[str, list[Row]] = {}
    statement = "SELECT originator_id, originator_version, topic, state FROM stored_events ORDER BY rowid"
    for row in connection.execute(statement):
        streams.setdefault(row[0], []).append(row)
    connection.close()
    return list(streams.values())


def _rows(told: list[list[Row]]) -> Iterator[Row]:
    number = 0
    while True:
        for place, stream in enumerate(told):
            number += 1
            stream_id = uuid.UUID(int=number).hex
            placeholder, name = PLACEHOLDER.format(place).encode(), f"s{number:08}".encode()
            for _, version, topic, state in stream:
                yield stream_id, version, topic, state.replace(placeholder, name)


def fill(home: Home, events: int) -> None:
    """Store that many events, and fold every view up to the last."""
    home.create()
    key = home.key()
    EventStore(home.events, key).close()
    connection = sqlite3.connect(home.events, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    rows, link, left = _rows(told_sessions()), b"", events
    while left:
        chunk = []
        for row in islice(rows, min(left, ROWS_PER_TRANSACTION)):
            link = chain_link(key, link, row)
            chunk.append((*row, link))
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO stored_events (originator_id, originator_version, topic, state, chain) "
            "VALUES (?,?,?,?,?)",
            chunk,
        )
        connection.execute("COMMIT")
        left -= len(chunk)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    fold_views(home)


def fold_views(home: Home) -> None:
    """Bring every view up to date."""
    with EventLog(home.events) as log:
        for projection in PROJECTIONS:
            with open_view(home.views, projection) as view:
                view.catch_up(log)
