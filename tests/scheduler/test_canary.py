"""No source text, output or secret of a session ever reaches the disk."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from canaries import CANARY, FAKE_SECRETS, Canaries, failing_steps, found_in, quiet_payloads
from daemon_runs import PATIENCE_S, call, status, until
from workbench import rows_of, topics_in

from tokeneconomizer.domain.errors import DaemonUnreachable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import client
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import is_held

if TYPE_CHECKING:
    from collections.abc import Iterator

LAUNCHER = Path(__file__).resolve().parents[2] / "hosts" / "hook" / "launcher.py"
KEY_OF_THE_USER = "sk-ant-" + "of-the-user-0123456789abcdef"
VISIBLE = ["visible_name.py", "make test", "mcp__tracker__create", "redirected"]


@pytest.fixture
def home() -> Iterator[Home]:
    """A home whose daemon the hook client starts; it is stopped whatever the test does."""
    with TemporaryDirectory(prefix="te-") as folder:
        home = Home(Path(folder) / "state")
        yield home
        with contextlib.suppress(DaemonUnreachable):
            client.ask(home, "stop")
        until(lambda: not is_held(home.lock))


def te_hook(home: Home, event: str, payload: bytes) -> bytes:
    """Run the real hook client as an agent does."""
    flags = ["--host", "claude_code", "--event", event, "--via", "plugin"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER), *flags],
        input=payload,
        env={
            "HOME": str(home.root.parent),
            "TOKENECONOMIZER_HOME": str(home.root),
            "ANTHROPIC_API_KEY": KEY_OF_THE_USER,
        },
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return done.stdout


def write_transcript(path: Path, canary: Canaries) -> None:
    """The agent's own log, whose end is read at every step."""
    block = {"type": "tool_result", "tool_use_id": "w", "is_error": True, "content": canary("logged result")}
    line = {"type": "user", "version": "2.1.332", "message": {"role": "user", "content": [block]}}
    path.write_text(f"{canary('no json')}\n{json.dumps(line)}\n")


def fold_all(home: Home) -> None:
    events = EventLog(home.events)
    for projection in PROJECTIONS:
        with open_view(home.views, projection) as view:
            view.catch_up(events)
    events.close()


def test_no_canary_of_a_whole_session_is_found_in_the_home(home: Home, tmp_path: Path) -> None:
    canary = Canaries()
    transcript = tmp_path / "session.jsonl"
    write_transcript(transcript, canary)
    quiet = list(quiet_payloads(canary, transcript))
    loud = list(failing_steps(canary, steps=8))
    forbidden = [CANARY, *FAKE_SECRETS.values(), KEY_OF_THE_USER]

    # The first call finds no daemon: it is spooled, and starts one.
    assert te_hook(home, "UserPromptSubmit", quiet[1]) == b"{}"
    until(lambda: status(home) is not None)
    te_hook(home, "SessionStart", quiet[0])
    for payload in quiet[2:]:
        call(home, payload)
    replies = [call(home, payload, confirm=number > 7) for number, payload in enumerate(loud)]
    until(lambda: not list(home.spool.iterdir()))
    while_it_runs = found_in(home.root, forbidden)
    client.ask(home, "stop")
    until(lambda: not is_held(home.lock))
    fold_all(home)
    kinds = set(topics_in(home.events))

    assert len(canary.planted) > 100
    assert {"redirected", "delivery_failed", "stop_hinted", "compacted", "archived"} <= kinds
    assert CANARY.encode() not in b"".join(replies)
    assert while_it_runs == []
    assert found_in(home.root, forbidden) == []
    assert {needle for _, needle in found_in(home.root, VISIBLE)} == set(VISIBLE)
    assert {path.name for path in home.root.rglob("*.log")} == {"daemon.log", "hook.log"}


def test_no_canary_of_a_long_session_is_found_in_its_snapshot(home: Home, tmp_path: Path) -> None:
    canary = Canaries()
    payloads = [
        *quiet_payloads(canary, tmp_path / "absent.jsonl"),
        *failing_steps(canary, steps=60),
        *quiet_payloads(canary, tmp_path / "absent.jsonl"),
    ]
    te_hook(home, "UserPromptSubmit", payloads[1])
    until(lambda: status(home) is not None)
    for payload in payloads:
        call(home, payload)
    client.ask(home, "stop")
    until(lambda: not is_held(home.lock))
    (table,) = rows_of(home.events, "SELECT name FROM sqlite_master WHERE name LIKE 'stored_snapshots%'")

    assert len(rows_of(home.events, f"SELECT * FROM {table[0]}")) > 0
    assert found_in(home.root, [CANARY, *FAKE_SECRETS.values()]) == []


def test_a_canary_that_is_there_is_found(tmp_path: Path) -> None:
    rows_of(tmp_path / "a.db", "CREATE TABLE t (x BLOB)")
    rows_of(tmp_path / "b.log", "CREATE TABLE t (x TEXT DEFAULT 'Kanarie 7')")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.txt").write_text("one kanarie")

    assert sorted(found_in(tmp_path, [CANARY])) == [("b.log", CANARY), ("c.txt", CANARY)]
