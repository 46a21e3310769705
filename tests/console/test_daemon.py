import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import version

import pytest
from console_runs import COMMAND, te, te_process

from tokeneconomizer.console import daemon_process, output
from tokeneconomizer.domain.errors import DaemonUnreachable
from tokeneconomizer.scheduler import client
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import held, is_held

WAIT_S_MAX = 30
"""Far above what a start or stop takes on a loaded machine."""


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def running(home: Home) -> Iterator[Home]:
    """Start a real daemon, and stop it whatever the test does."""
    done = te_process("daemon", "start")
    assert done.status == 0, done.err
    try:
        yield home
    finally:
        te("daemon", "stop")
        wait_until(lambda: not is_held(home.lock))


def test_start_makes_a_daemon_that_answers_and_stop_ends_it(home: Home) -> None:
    started = te_process("daemon", "start")
    assert (started.status, started.out) == (0, "")
    assert started.err == f"the daemon runs; its log: {home.log}\n"
    state = json.loads(te("daemon", "status", "--json").out)
    assert state["running"]
    assert state["answers"]
    assert state["pid"] not in {None, os.getpid()}
    assert state["version"] == state["program_version"] == version("tokeneconomizer")
    assert te("daemon", "stop").err == "the daemon has stopped\n"
    assert not is_held(home.lock)
    assert not home.socket.exists()


def test_start_and_stop_may_be_said_twice(running: Home) -> None:
    assert te("daemon", "start").err == "the daemon is already running\n"
    assert te("daemon", "stop").err == "the daemon has stopped\n"
    assert te("daemon", "stop").err == "the daemon was not running\n"
    assert not is_held(running.lock)


def test_status_shows_a_running_daemon(running: Home) -> None:
    lines = [line.split(maxsplit=1) for line in te("daemon", "status").out.splitlines()]
    assert lines[0] == ["daemon", "running"]
    assert [line[0] for line in lines] == ["daemon", "version", "since", "process", "calls", "log"]
    assert lines[-1][1] == str(running.log)


@pytest.mark.usefixtures("running")
def test_a_daemon_of_another_version_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "program_version", lambda: "99.0")
    for arguments in (("daemon", "status"), ("status",)):
        shown = te(*arguments).out
        assert "this program 99.0: run `te daemon stop`, then `te daemon start`" in shown


def test_a_setting_reaches_a_running_daemon_as_an_event(running: Home) -> None:
    assert te("config", "set", "loopguard", "off").err == "loopguard: off (everywhere)\n"
    events = [json.loads(line) for line in te("audit", "export").out.splitlines()]
    assert [event["data"].get("key") for event in events] == [None, "loopguard"]
    assert is_held(running.lock)


def test_the_daemon_gets_nothing_of_this_terminal(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TERMINAL", "x")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    seen: list[dict[str, object]] = []

    class Process:
        def __init__(self, command: list[str], **options: object) -> None:
            seen.append({"command": command, **options})

    home.create()
    monkeypatch.setattr(subprocess, "Popen", Process)
    daemon_process._spawn(home)  # noqa: SLF001 - what is handed over is seen nowhere else
    (options,) = seen
    assert options["command"] == [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon"]
    assert set(options["env"]) <= {*daemon_process.ENVIRONMENT_NAMES, "TOKENECONOMIZER_HOME"}  # type: ignore[call-overload]
    assert options["start_new_session"]
    assert options["close_fds"]
    assert {options[name] for name in ("stdin", "stdout", "stderr")} == {subprocess.DEVNULL}


def test_a_home_without_daemon_is_said_to_have_none(home: Home) -> None:
    done = te("daemon", "status")
    assert done.status == 0
    assert done.out.startswith("daemon  not running; the next hook starts it, or `te daemon start`\n")
    assert not home.root.exists()


def test_a_lock_that_is_held_without_an_answer_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_process, "START_S_MAX", 0.05)
    home.create()
    with held(home.lock):
        assert "holds its lock and does not answer" in te("daemon", "status").out
        # `run` changes the process that it runs in.
        for done in (te("daemon", "start"), te("daemon", "stop"), te_process("daemon", "run")):
            assert done.status == 1
            assert done.err.splitlines()[-1].startswith("te: ")


def test_a_daemon_that_ends_at_once_is_a_known_error(home: Home) -> None:
    home.create()
    home.events.write_bytes(b"no database" * 1000)
    done = te_process("daemon", "start")
    assert done.status == 1
    assert "the daemon ended at once" in done.err
    assert str(home.log) in done.err


def test_run_serves_in_the_foreground_until_interrupted(home: Home) -> None:
    process = subprocess.Popen([*COMMAND, "daemon", "run"], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: home.socket.exists() and daemon_process.state_of(home).answers)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S_MAX)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert err == f"the daemon runs until Ctrl-C; its log: {home.log}\n"
    assert not is_held(home.lock)


def test_one_that_does_not_listen_yet_or_follows_the_one_that_left_is_asked_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.create()
    answers: list[OSError | None] = [None, FileNotFoundError(), ConnectionRefusedError()]

    with ExitStack() as lock:

        def ask(_home: Home, _kind: str) -> None:
            if not answers:
                lock.close()
            elif (error := answers.pop()) is not None:
                message = "not yet"
                raise DaemonUnreachable(message) from error

        lock.enter_context(held(home.lock))
        monkeypatch.setattr(client, "ask", ask)
        monkeypatch.setattr(daemon_process, "ASK_AGAIN_S", 0.0)
        assert daemon_process.stop(home)
    assert answers == []
