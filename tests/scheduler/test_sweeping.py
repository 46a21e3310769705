"""When the daemon's timer has the agents' logs swept, and how its child is run."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from workbench import NOON, capturing_log

from tokeneconomizer.scheduler import sweeping
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.sweeping import SWEEP_EVERY_S, Sweeping

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

LATER = NOON + timedelta(seconds=SWEEP_EVERY_S)
MUCH_LATER = LATER + timedelta(seconds=SWEEP_EVERY_S)
BEFORE = NOON - timedelta(days=1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "state")
    home.create()
    return home


def sweeps(
    home: Home, *ticks: tuple[datetime, datetime], environments: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[int, list[str]]:
    """Tick at these moments, each with the last hook call's; return how many sweeps ended, and the log."""
    log, captured = capturing_log()
    ended = 0

    def after() -> None:
        nonlocal ended
        ended += 1

    async def tick_all() -> None:
        work = Sweeping(home, log, environments or {}, after, NOON)
        for now, last_call in ticks:
            work.start_if_due(now, last_call)
            if work.running is not None:
                await work.running
        await work.close()

    asyncio.run(tick_all())
    return ended, [str(entry["event"]) for entry in captured.entries]


@pytest.fixture
def quick_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHILD_COMMAND", (sys.executable, "-I", "-S", "-c", "pass"))


@pytest.mark.usefixtures("quick_child")
@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        pytest.param([(NOON, NOON)], 0, id="not at the start"),
        pytest.param([(LATER, LATER)], 1, id="after the wait"),
        pytest.param([(LATER, BEFORE)], 0, id="not when nobody called since the start"),
        pytest.param([(LATER, LATER), (LATER, LATER)], 1, id="once a wait"),
        pytest.param([(LATER, LATER), (MUCH_LATER, MUCH_LATER)], 2, id="again after the next wait"),
        pytest.param([(LATER, NOON), (MUCH_LATER, NOON)], 1, id="not again when nobody called since"),
        pytest.param([(BEFORE, NOON)], 1, id="at once after the clock was set back"),
    ],
)
def test_logs_are_swept_now_and_then_while_agents_are_at_work(
    home: Home, ticks: list[tuple[datetime, datetime]], expected: int
) -> None:
    assert sweeps(home, *ticks) == (expected, [])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit('no room on the disk')", ["logs were not swept"]),
        ("import sys; sys.exit(75)", []),
    ],
)
def test_a_sweep_that_fails_is_told_in_the_log_unless_an_import_runs(
    home: Home, monkeypatch: pytest.MonkeyPatch, program: str, told: list[str]
) -> None:
    monkeypatch.setattr(sweeping, "CHILD_COMMAND", (sys.executable, "-c", program))

    assert sweeps(home, (LATER, LATER)) == (1, told)


def test_a_child_that_cannot_be_started_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "CHILD_COMMAND", ("/nowhere/python",))

    assert sweeps(home, (LATER, LATER)) == (1, ["logs were not swept"])


def test_a_round_that_is_awaited_runs_although_nobody_calls(home: Home) -> None:
    ended = []

    async def tick() -> None:
        command = (sys.executable, "-c", "raise SystemExit(3)")
        log, captured = capturing_log()
        work = Sweeping(home, log, {}, lambda: ended.append(1), NOON, command=command)
        work.start_if_due(LATER, NOON - timedelta(hours=1))
        assert work.running is None
        work.start_if_due(LATER, NOON - timedelta(hours=1), is_awaited=True)
        assert work.running is not None
        await work.running
        assert [entry["event"] for entry in captured.entries] == ["deny lists were not looked after"]

    asyncio.run(tick())
    assert ended == [1]


def test_the_child_is_told_where_the_agents_folders_are_and_no_secret(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    program = f"import json, os; json.dump(dict(os.environ), open({str(report)!r}, 'w'))"
    monkeypatch.setattr(sweeping, "CHILD_COMMAND", (sys.executable, "-I", "-c", program))
    heard = {"codex": {"CODEX_HOME": "/srv/codex", "OPENAI_API_KEY": "secret"}}

    sweeps(home, (LATER, LATER), environments=heard)

    seen = json.loads(report.read_text())
    assert seen["CODEX_HOME"] == "/srv/codex"
    assert seen["TOKENECONOMIZER_HOME"] == str(home.root)
    assert "OPENAI_API_KEY" not in seen


def test_the_child_ends_with_the_daemon(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    hangs = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(sweeping, "CHILD_COMMAND", (sys.executable, "-c", hangs))

    async def start_and_close() -> None:
        work = Sweeping(home, capturing_log()[0], {}, lambda: None, NOON)
        work.start_if_due(LATER, LATER)
        while not pid_file.exists() or not pid_file.read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.005)
        work.start_if_due(MUCH_LATER, MUCH_LATER)
        await work.close()

    asyncio.run(start_and_close())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
