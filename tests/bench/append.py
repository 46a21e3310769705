"""
How fast events are appended: `python tests/bench/append.py`.

Beside the store, plain SQLite with the same rows and pragmas. Both take turns in short blocks, so that a busy
machine slows both. Plain SQLite is given finished rows: it neither encodes an event nor links it to the one
before, as the store does.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.guard.limits import Limits
from tokeneconomizer.domain.session import Session
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Callable

# Short enough that the machine is the same for both sides, long enough that the clock does not count.
BLOCK_SAVES = 100
BLOCKS = 30
REPEATS = 3
KEY = b"a key for benchmarks, of 32 byte"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
INSERT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, chain) VALUES (?,?,?,?,?)"
)

CALLED = {
    "turn": 1,
    "step": 1,
    "whole_step": True,
    "agent_id": "",
    "tool": "Bash",
    "kind": "shell",
    "server": "",
    "target": "",
    "target_hash": "",
    "command": "python -m pytest -q tests/test_total.py | tail -20",
    "command_template": "python -m pytest -q <path> | tail <number>",
    "input_characters": 92,
    "arguments_hash": "0123456789abcdef",
    "edit_hash": "",
    "background": False,
}
RETURNED = {
    "turn": 1,
    "agent_id": "",
    "status": "failed",
    "exit_code": 1,
    "interrupted": False,
    "duration_ms": None,
    "output_characters": 2_048,
    "result_hash": "0123456789abcdef",
    "signature": "AssertionError, FAILED",
    "signature_hash": "0123456789abcdef",
    "verdict": None,
    "verdict_rule": "",
    "verdict_version": 0,
    "written": [],
}


def new_session() -> Session:
    """Begin the session whose events are appended."""
    return Session.start(
        SessionKey("claude_code", "bench"),
        START,
        delivery_id="",
        parent="",
        agent_type="",
        repository="example.org/team/project",
        checkout="/home/dev/project",
        source="startup",
        model="",
        content_hash="",
        limits=Limits().to_json(),
    )


def trigger(session: Session, number: int, events: int) -> None:
    """Let the call of that number happen: its two events, or the second alone."""
    common = {
        "timestamp": START + timedelta(seconds=number),
        "delivery_id": f"{number:032x}",
        "call_id": f"toolu_{number:024}",
    }
    if events > 1:
        session.trigger_event(happened.ToolCalled, **common, **CALLED)
    session.trigger_event(happened.ToolReturned, **common, **RETURNED)


def seconds(work: Callable[[], object]) -> float:
    """Time one piece of work."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain_save(connection: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    """Do what a save does in the end."""
    connection.execute("BEGIN IMMEDIATE")
    for row in rows:
        connection.execute(INSERT, row)
    connection.execute("COMMIT")


def one_run(folder: Path, events: int, blocks: int) -> tuple[float, float]:
    """Return the seconds that the store and plain SQLite took for the same saves."""
    store, twin = EventStore(folder / "events.db", KEY), folder / "plain.db"
    EventStore(twin, KEY).close()
    plain = sqlite3.connect(twin, isolation_level=None)
    plain.execute("PRAGMA synchronous=NORMAL")
    reader = sqlite3.connect(folder / "events.db")
    session, number = new_session(), 0
    store.save(session)
    ours = theirs = 0.0
    for _ in range(blocks):
        first = session.version
        for _ in range(BLOCK_SAVES):
            number += 1
            trigger(session, number, events)
            ours += seconds(lambda: store.save(session))
        rows = reader.execute(
            "SELECT originator_id, originator_version, topic, state, chain FROM stored_events "
            "WHERE originator_version > ? ORDER BY rowid",
            (first,),
        ).fetchall()
        for place in range(0, len(rows), events):
            saved = rows[place : place + events]
            theirs += seconds(lambda saved=saved: plain_save(plain, saved))  # type: ignore[misc]
    for connection in (plain, reader):
        connection.close()
    store.close()
    return ours, theirs


def measure(root: Path, *, blocks: int = BLOCKS, repeats: int = REPEATS) -> dict[str, object]:
    """Measure saves of one event, and of the two of a hook call."""
    figures: dict[str, object] = {}
    saves = blocks * BLOCK_SAVES
    for events, name in ((2, "two_events"), (1, "one_event")):
        runs = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory(dir=root) as folder:
                runs.append(one_run(Path(folder), events, blocks))
        # The middle one: on a busy machine the best is luck.
        ours, theirs = sorted(runs, key=lambda run: run[0] / run[1])[len(runs) // 2]
        figures[name] = {
            "ours_us": round(ours / saves * 1e6, 1),
            "plain_us": round(theirs / saves * 1e6, 1),
            "ours_events_per_s": round(saves * events / ours),
            "plain_events_per_s": round(saves * events / theirs),
            "ratio": round(theirs / ours, 3),
            "ratios": [round(theirs / ours, 3) for ours, theirs in runs],
        }
    return figures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(measure(Path(temporary))))  # noqa: T201 - its output
