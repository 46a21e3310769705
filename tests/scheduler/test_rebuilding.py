"""Views of another schema, in a real daemon and its child process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from daemon_runs import call, running, until
from workbench import capturing_log

from tokeneconomizer.projections import audit, counters
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import current, open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import child, rebuilding
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.rebuilding import FAILURES_MAX, Rebuilding

if TYPE_CHECKING:
    from collections.abc import Iterator

    import structlog

OTHER_SCHEMA = 7

FAILS = (sys.executable, "-c", "import sys; sys.exit('no room on the disk')")
IS_BUSY = (sys.executable, "-c", "import sys; sys.exit(75)")
KILLED = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


@pytest.fixture
def home() -> Iterator[Home]:
    # Short: these tests reach the socket by its whole path.
    with TemporaryDirectory(prefix="te-") as folder:
        home = Home(Path(folder) / "state")
        home.create()
        yield home


def make_outdated(home: Home) -> None:
    """Leave views as a program with another schema made them."""
    for projection in PROJECTIONS:
        with open_view(home.views, projection) as view:
            view.connection().execute(f"PRAGMA user_version={OTHER_SCHEMA}")
            path = view.path
        other = path.with_name(f"{projection.NAME}.{OTHER_SCHEMA}.db")
        path.rename(other)
        (home.views / f"{projection.NAME}.current").write_text(f"{other.name}\n")


def are_outdated(home: Home) -> set[bool]:
    found = set()
    for projection in PROJECTIONS:
        with open_view(home.views, projection) as view:
            found.add(view.is_outdated)
    return found


def are_up_to_date(home: Home) -> bool:
    with EventLog(home.events) as log:
        last = log.last_position()
    for projection in PROJECTIONS:
        with open_view(home.views, projection) as view:
            if view.position() < last:
                return False
    return True


def log_of(home: Home) -> list[str]:
    return [json.loads(line)["event"] for line in home.log.read_text().splitlines()]


def test_a_daemon_rebuilds_outdated_views_and_goes_on_with_the_new_files(home: Home) -> None:
    with running(home):
        call(home, hooks.prompt("go on", prompt_id="prompt-1"))
    make_outdated(home)
    with running(home):
        until(lambda: are_outdated(home) == {False})
        call(home, hooks.prompt("go on", prompt_id="prompt-2"))
        until(lambda: are_up_to_date(home))
        until(lambda: "views were rebuilt" in log_of(home))
    assert [current(home.views, view) for view in PROJECTIONS] == [
        home.views / f"{view.NAME}.{view.SCHEMA}-2.db" for view in PROJECTIONS
    ]
    assert not list(home.views.glob(f"*.{OTHER_SCHEMA}.db*"))
    with open_view(home.views, counters) as view:
        assert counters.totals(view.connection()).prompts_human == 2


def test_views_of_this_schema_start_no_child(home: Home) -> None:
    with running(home):
        call(home, hooks.prompt("go on"))
        until(lambda: are_up_to_date(home))
    assert not [event for event in log_of(home) if event.startswith("views")]


def test_one_that_was_killed_half_way_is_done_again_by_the_next_daemon(home: Home) -> None:
    with running(home):
        call(home, hooks.prompt("go on"))
    make_outdated(home)
    (home.views / "counters.1-2.db").write_bytes(b"half of a view")
    with running(home) as daemon:
        daemon.send_signal(signal.SIGKILL)
    with running(home):
        until(lambda: are_outdated(home) == {False})
    with open_view(home.views, counters) as view:
        assert counters.totals(view.connection()).prompts_human == 1


async def attempts(home: Home, log: structlog.stdlib.BoundLogger, times: int) -> None:
    """Let it be due several times, each time when the child before has ended."""
    work = Rebuilding(home, log)
    for _ in range(times):
        work.start_if_due()
        if work._task is not None:  # noqa: SLF001 - the test waits where the daemon does not
            await work._task  # noqa: SLF001
    await work.close()


@pytest.mark.parametrize(("command", "reason"), [(FAILS, "no room on the disk"), (KILLED, "")])
def test_a_child_that_fails_is_told_and_not_started_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], reason: str
) -> None:
    make_outdated(home)
    monkeypatch.setattr(rebuilding, "CHILD_COMMAND", command)
    log, captured = capturing_log()
    asyncio.run(attempts(home, log, FAILURES_MAX + 2))
    errors = [entry for entry in captured.entries if entry["log_level"] == "error"]
    assert [entry["reason"] for entry in errors] == [reason] * FAILURES_MAX
    assert are_outdated(home) == {True}


def test_a_child_that_finds_another_one_at_work_is_no_failure(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_outdated(home)
    monkeypatch.setattr(rebuilding, "CHILD_COMMAND", IS_BUSY)
    log, captured = capturing_log()
    asyncio.run(attempts(home, log, FAILURES_MAX + 2))
    assert [entry["log_level"] for entry in captured.entries] == ["info"] * 2 * (FAILURES_MAX + 2)


def test_a_program_that_cannot_be_started_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    make_outdated(home)
    monkeypatch.setattr(rebuilding, "CHILD_COMMAND", ("/nowhere/python",))
    log, captured = capturing_log()
    asyncio.run(attempts(home, log, 1))
    assert "No such file" in captured.entries[-1]["reason"]


def test_a_view_that_cannot_be_looked_at_does_not_keep_the_others(home: Home) -> None:
    make_outdated(home)
    (home.views / f"{audit.NAME}.{OTHER_SCHEMA}.db").write_bytes(b"no database" * 1000)
    log, captured = capturing_log()
    asyncio.run(attempts(home, log, 1))
    first, *_, last = captured.entries
    assert (first["event"], first["view"]) == ("view not looked at", audit.NAME)
    assert (last["event"], last["views"]) == ("views were rebuilt", [counters.NAME, "prune_evidence"])


def test_the_child_ends_with_the_daemon(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_outdated(home)
    pid_file = tmp_path / "pid"
    hangs = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(rebuilding, "CHILD_COMMAND", (sys.executable, "-c", hangs))

    async def start_and_close() -> None:
        work = Rebuilding(home, capturing_log()[0])
        work.start_if_due()
        while not pid_file.exists() or not pid_file.read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.005)
        work.start_if_due()
        await work.close()

    asyncio.run(start_and_close())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_the_child_has_a_clean_environment_and_goes_last(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_outdated(home)
    report = tmp_path / "report"
    monkeypatch.setenv("SECRET", "x")
    program = (
        "import json, os, sys; from tokeneconomizer.scheduler import rebuild_views; "
        "status = rebuild_views.main(sys.argv[1:]); "
        f"json.dump([os.nice(0), sorted(os.environ)], open({str(report)!r}, 'w')); sys.exit(status)"
    )
    monkeypatch.setattr(rebuilding, "CHILD_COMMAND", (sys.executable, "-I", "-c", program))
    log, _ = capturing_log()
    asyncio.run(attempts(home, log, 1))
    niceness, names = json.loads(report.read_text())
    assert niceness == 19
    assert set(names) <= {*child.ENVIRONMENT_NAMES, "TOKENECONOMIZER_HOME", "LC_CTYPE"}
    assert are_outdated(home) == {False}
