"""The daemon as a process: how it starts, ends, dies and starts again."""

from __future__ import annotations

import json
import secrets
import signal
import stat
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from daemon_runs import PATIENCE_S, call, output_of, running, start, status, until
from workbench import rows_of, spooled_file, topics_in

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections import microskills
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import current, open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import client, control, sending
from tokeneconomizer.scheduler.environment import FORBIDDEN_VARIABLES
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.lock import is_held
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Iterator

SPOOLED_AT_NS = 1_767_614_400_000_000_000


@pytest.fixture
def home() -> Iterator[Home]:
    # Short: these tests reach the socket by its whole path.
    with TemporaryDirectory(prefix="te-") as folder:
        yield Home(Path(folder) / "state")


def stored_deliveries(home: Home) -> set[object]:
    query = "SELECT DISTINCT json_extract(CAST(state AS TEXT), '$.delivery_id') FROM stored_events"
    return {name for (name,) in rows_of(home.events, query)}


def log_of(home: Home) -> list[dict[str, object]]:
    return [json.loads(line) for line in home.log.read_text().splitlines()]


def test_no_module_of_the_users_repository_and_no_variable_reaches_it(home: Home, tmp_path: Path) -> None:
    proof = tmp_path / "was imported"
    poison = f"open({str(proof)!r}, 'a').close()\nraise SystemExit(7)\n"
    repository = tmp_path / "repository"
    for name in ("domain", "hosts", "scheduler", "tokeneconomizer", "eventsourcing", "orjson"):
        (repository / name).mkdir(parents=True)
        (repository / name / "__init__.py").write_text(poison)
    for name in ("sqlite3.py", "json.py", "poison.py", "sitecustomize.py", "usercustomize.py"):
        (repository / name).write_text(poison)
    variables = dict.fromkeys(FORBIDDEN_VARIABLES, "poison:Anything")
    python = {"PYTHONPATH": str(repository), "PYTHONSTARTUP": str(repository / "poison.py")}
    with running(home, cwd=repository, **variables, **python):
        assert call(home, hooks.prompt("go on")) == b"{}"
        client.ask(home, "stop")

    assert topics_in(home.events) == ["started", "prompt_submitted"]
    assert not proof.exists()


def test_of_two_that_start_at_once_one_serves_and_the_other_leaves_quietly(home: Home) -> None:
    home.create()
    daemons = [start(home), start(home)]
    until(lambda: any(daemon.poll() is not None for daemon in daemons))
    left, serving = sorted(daemons, key=lambda daemon: daemon.poll() is None)
    until(lambda: status(home) is not None)
    found = status(home)
    serving.terminate()

    assert (left.returncode, output_of(left)) == (0, b"")
    assert found is not None
    assert found["pid"] == serving.pid
    assert output_of(serving) == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(home: Home, number: signal.Signals) -> None:
    with running(home) as daemon:
        call(home, hooks.prompt("go on"))
        daemon.send_signal(number)
        assert output_of(daemon) == b""
        assert daemon.returncode == 0

    assert not home.socket.exists()
    assert not is_held(home.lock)
    assert topics_in(home.events) == ["started", "prompt_submitted"]
    assert not home.events.with_name("events.db-wal").exists()
    assert [entry["event"] for entry in log_of(home)][-1] == "daemon stopped"


def test_it_tells_its_state_and_takes_commands(home: Home) -> None:
    with running(home) as daemon:
        home.config.write_text("loopguard: [broken\n")
        spooled_file(home, b"{}", time_ns=SPOOLED_AT_NS)
        refused = client.ask(home, "command", {"name": "unheard of"}).data
        policies = sending.submit(home, {"name": control.POLICIES_CHANGED})
        found = status(home)
        with pytest.raises(TokeneconomizerError, match="knows no command"):
            sending.submit(home, {"name": "unheard of"})

    assert found is not None
    assert found["pid"] == daemon.pid
    assert found["spooled"] == 1
    assert "no valid YAML" in str(found["configuration_problem"])
    assert found["judge_problem"] == ""
    assert found["agents_heard"] == []
    assert "knows no command `unheard of`" in str(refused["error"])
    assert policies == {"policies": 0}


def test_it_stores_what_the_user_set_since_it_ran_last(home: Home) -> None:
    home.create()
    home.config.write_text("loopguard: off\n")
    with running(home):
        first = topics_in(home.events)
    with running(home):
        assert topics_in(home.events) == first

    assert first == ["setup.opened", "setup.policy_set"]


def test_what_was_acknowledged_survives_a_kill_in_the_middle_of_work(home: Home) -> None:
    acknowledged: list[str] = []

    def work(session: int) -> None:
        for number in range(10_000):
            delivery_id = secrets.token_hex(16)
            payload = hooks.prompt("go on", prompt_id=f"prompt-{number}", session_id=f"session-{session}")
            try:
                call(home, payload, delivery_id=delivery_id)
            except OSError:
                return
            acknowledged.append(delivery_id)

    agents = [Thread(target=work, args=(number,)) for number in range(3)]
    with running(home) as daemon:
        for agent in agents:
            agent.start()
        until(lambda: len(acknowledged) > 60)
        daemon.kill()
        for agent in agents:
            agent.join(PATIENCE_S)
    stale = home.socket.exists()
    with running(home):
        assert call(home, hooks.payload("Stop", session_id="session-0")) == b"{}"

    assert stale
    assert len(acknowledged) > 60
    assert set(acknowledged) <= stored_deliveries(home)
    assert not is_held(home.lock)


def test_the_spool_is_empty_before_it_listens(home: Home) -> None:
    home.create()
    for number in range(20):
        payload = hooks.prompt("go on", prompt_id=f"prompt-{number}")
        spooled_file(home, payload, time_ns=SPOOLED_AT_NS + number * 10**9)
    with running(home):
        prompts = topics_in(home.events).count("prompt_submitted")
        assert not list(home.spool.iterdir())

    events = [entry["event"] for entry in log_of(home)]
    assert prompts == 20
    assert events.index("spool drained") < events.index("daemon listens")


def test_everything_it_makes_is_for_the_user_alone(home: Home) -> None:
    with running(home) as daemon:
        call(home, hooks.prompt("go on"))
        until(lambda: all(current(home.views, projection) for projection in PROJECTIONS))
        found = [home.root, *home.root.rglob("*")]
        modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in found}
        assert daemon.poll() is None

    assert {path.name for path in modes} >= {"events.db", "events.db-wal", "key", "daemon.sock", "daemon.log"}
    assert {path for path, mode in modes.items() if mode & 0o077} == set()
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_the_views_follow_the_events(home: Home) -> None:
    def folded() -> bool:
        path = current(home.views, PROJECTIONS[0])
        return path is not None and rows_of(path, "SELECT max(position) FROM progress")[0][0] == events

    with running(home):
        for number in range(120):
            call(home, hooks.prompt("go on", prompt_id=f"prompt-{number}"))
        events = len(topics_in(home.events))
        until(folded)


def test_a_store_of_a_newer_program_ends_it_with_a_word_in_the_log(home: Home) -> None:
    home.create()
    EventStore(home.events, home.key()).close()
    rows_of(home.events, "PRAGMA user_version=99")
    daemon = start(home)
    output_of(daemon)

    assert daemon.returncode != 0
    assert not is_held(home.lock)
    (entry,) = log_of(home)
    assert entry["event"] == "daemon failed"
    assert "install the newer program" in str(entry["reason"])


def test_its_import_alone_changes_nothing(home: Home, tmp_path: Path) -> None:
    code = "import tokeneconomizer.scheduler.daemon"
    done = subprocess.run(
        [*start.__globals__["COMMAND"][:2], "-c", code],
        env={"HOME": str(tmp_path), "TOKENECONOMIZER_HOME": str(home.root)},
        check=False,
        capture_output=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not home.root.exists()


def test_what_sessions_taught_is_rendered_and_told_to_the_next_one(home: Home) -> None:
    home.create()
    home.config.write_text("trust: yes\n")
    told = []
    for number in (1, 2, 3):
        session = {"session_id": f"session-{number}", "cwd": str(home.root.parent)}
        if number == 3:
            # Its first look at the timers finds the view up to date.
            with EventLog(home.events) as log, open_view(home.views, microskills) as view:
                view.catch_up(log)
        with running(home):
            if number == 3:
                until(lambda: "block_rendered" in "".join(topics_in(home.events)))
            told.append(call(home, hooks.payload("SessionStart", source="startup", **session)))
            done = hooks.tool_call(f"call-{number}", "Bash", "built", command="cargo build")
            call(home, hooks.step(done, **session))
            call(home, hooks.payload("SessionEnd", reason="other", **session))
    assert told[:2] == [b"{}", b"{}"]
    assert "Build with `cargo build`." in json.loads(told[2])["hookSpecificOutput"]["additionalContext"]
