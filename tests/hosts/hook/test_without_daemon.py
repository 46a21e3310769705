import json
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tokeneconomizer.hosts.hook import hook_cold, wire

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Command = Callable[..., list[str]]

PATIENCE_S = 30
NOW_NS = 1_800_000_000_000_000_000
SECOND_NS = 1_000_000_000
KEYS = {"ANTHROPIC_API_KEY": "canary-key", "GH_TOKEN": "canary-token", "AWS_PROFILE": "canary-other"}


def spool_files(home: Path) -> list[Path]:
    spool = home / "spool"
    return sorted(spool.iterdir()) if spool.exists() else []


def spooled_calls(home: Path) -> list[wire.Spooled]:
    return [wire.parse_spooled(path.read_bytes()) for path in spool_files(home)]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("event", "empty"), [("Stop", b"{}"), ("SessionStart", b"{}"), ("PreCompact", b"")])
def test_the_payload_is_spooled_with_the_reply_that_was_given(
    run: Run, home: Path, event: str, empty: bytes
) -> None:
    payload = b'{"text": "\xff\n TE1"}\n'
    result = run(event, payload)
    assert (result.returncode, result.stdout, result.stderr) == (0, empty, b"")
    (path,) = spool_files(home)
    data = path.read_bytes()
    spooled = wire.parse_spooled(data)
    assert (spooled.host, spooled.event, spooled.via) == ("claude_code", event, "plugin")
    assert (spooled.reply, spooled.payload) == (empty, payload)
    assert wire.encode_spooled(spooled) == data
    time_ns, _, delivery_id = path.name.split("-")
    assert (int(time_ns), delivery_id) == (spooled.time_ns, spooled.delivery_id)


def test_the_payload_is_in_the_spool_when_the_reply_is_read(home: Path, command: Command) -> None:
    environment = {"TOKENECONOMIZER_HOME": str(home)}
    with subprocess.Popen(
        command(), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"payload")
        process.stdin.close()
        assert process.stdout.read(2) == b"{}"
        assert [spooled.payload for spooled in spooled_calls(home)] == [b"payload"]


def test_a_missing_home_is_made_for_its_owner_alone(run: Run, tmp_path: Path) -> None:
    result = run(payload=b"payload", variables={"HOME": str(tmp_path / "user")})
    home = tmp_path / "user" / ".tokeneconomizer"
    assert (result.stdout, result.stderr) == (b"{}", b"")
    assert [spooled.payload for spooled in spooled_calls(home)] == [b"payload"]
    assert {mode(folder) for folder in (home, home / "spool", home / "log")} == {0o700}
    assert {mode(file) for file in (*spool_files(home), home / "log" / "hook.log")} == {0o600}


def test_the_environment_is_never_spooled_nor_logged(run: Run, home: Path) -> None:
    run("SessionStart", b"payload", variables={"TOKENECONOMIZER_HOME": str(home), **KEYS})
    contents = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert len(contents) == 3
    assert not any(b"canary" in content for content in contents)


def test_the_log_names_the_event_and_the_error_but_no_text(run: Run, home: Path) -> None:
    run("Stop", b"canary")
    line = (home / "log" / "hook.log").read_text()
    assert line.endswith(" host=claude_code event=Stop payload=complete FileNotFoundError\n")
    assert "canary" not in line


def test_a_long_log_is_set_aside_once(run: Run, home: Path) -> None:
    log = home / "log" / "hook.log"
    log.parent.mkdir()
    log.write_bytes(b"x" * hook_cold.LOG_BYTES_MAX)
    run()
    run()
    assert len(log.read_text().splitlines()) == 2
    assert (home / "log" / "hook.log.1").stat().st_size == hook_cold.LOG_BYTES_MAX


@pytest.mark.parametrize("size", [0, wire.PAYLOAD_BYTES_MAX + 1])
def test_a_payload_that_nobody_could_use_is_not_spooled(run: Run, home: Path, size: int) -> None:
    result = run(payload=b"x" * size)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert spool_files(home) == []


def test_a_spool_with_too_many_files_takes_no_more(run: Run, home: Path) -> None:
    (home / "spool").mkdir()
    (home / "spool" / "0").touch()
    for number in range(1, hook_cold.SPOOL_FILES_MAX):
        os.link(home / "spool" / "0", home / "spool" / str(number))
    result = run()
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert len(spool_files(home)) == hook_cold.SPOOL_FILES_MAX
    assert "SpoolFullError" in (home / "log" / "hook.log").read_text()


def test_a_spool_with_too_many_bytes_takes_no_more(run: Run, home: Path) -> None:
    (home / "spool").mkdir()
    with (home / "spool" / "0").open("wb") as file:
        file.truncate(hook_cold.SPOOL_BYTES_MAX - 50)
    assert run(payload=b"x").stdout == b"{}"
    assert len(spool_files(home)) == 1


@pytest.mark.parametrize("payload", [b"", b'{"session_id": "s"}'])
@pytest.mark.parametrize(("event", "empty"), [("Stop", b"{}"), ("PreCompact", b"")])
def test_a_stdin_that_is_kept_open_ends_at_the_deadline_with_what_came(
    home: Path, command: Command, payload: bytes, event: str, empty: bytes
) -> None:
    with subprocess.Popen(
        command(event),
        env={"TOKENECONOMIZER_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(payload)
        process.stdin.flush()
        assert (process.stdout.read(), process.stderr.read()) == (empty, b"")
    assert process.returncode == 0
    assert [spooled.payload for spooled in spooled_calls(home)] == ([payload] if payload else [])
    assert not (home / "daemon.starting").exists()


@pytest.mark.parametrize(
    "script",
    [
        'exec "$@" <&-',
        'exec "$@" 2>&-',
        'exec "$@" <&- 2>&-',
        'exec "$@" 0>/dev/null',
        'exec "$@" </dev/zero',
        'ulimit -f 0; exec "$@"',
        'ulimit -n 4; exec "$@"',
        'cd "$TOKENECONOMIZER_HOME"; mkdir gone; cd gone; rmdir ../gone; exec "$@"',
        'chmod 000 "$TOKENECONOMIZER_HOME"; exec "$@"',
        'chmod 500 "$TOKENECONOMIZER_HOME"; exec "$@"',
        'touch "$TOKENECONOMIZER_HOME"/spool "$TOKENECONOMIZER_HOME"/log; exec "$@"',
        'mkdir "$TOKENECONOMIZER_HOME"/daemon.starting "$TOKENECONOMIZER_HOME"/daemon.sock; exec "$@"',
        'unset HOME; exec "$@"',
        "trap '' ALRM; exec \"$@\"",
        'TOKENECONOMIZER_HOME="$TOKENECONOMIZER_HOME"/x/../y; exec "$@"',
        'touch "$TOKENECONOMIZER_HOME"/f; TOKENECONOMIZER_HOME="$TOKENECONOMIZER_HOME"/f exec "$@"',
        'touch "$TOKENECONOMIZER_HOME"/f; TOKENECONOMIZER_HOME="$TOKENECONOMIZER_HOME"/f/h exec "$@"',
        'TOKENECONOMIZER_HOME=/proc/none exec "$@"',
        'TOKENECONOMIZER_HOME=/dev/null exec "$@"',
        'TOKENECONOMIZER_HOME="$TOKENECONOMIZER_HOME"/$(printf "\\377\\n") exec "$@"',
        'exec "$@" --unknown --host',
        'exec "$@" --help',
    ],
)
@pytest.mark.parametrize(("event", "empty"), [("Stop", b"{}"), ("PreCompact", b"")])
def test_nothing_from_outside_breaks_the_turn(
    run: Run, home: Path, script: str, event: str, empty: bytes
) -> None:
    try:
        result = run(event, script=script)
    finally:
        home.chmod(0o700)
    assert (result.returncode, result.stdout, result.stderr) == (0, empty, b"")
    assert not list(home.glob("spool/.*"))


def test_a_closed_stdout_still_leaves_the_payload_in_the_spool(run: Run, home: Path) -> None:
    result = run(payload=b"payload", script='exec "$@" >&-')
    assert (result.returncode, result.stderr) == (0, b"")
    assert [spooled.payload for spooled in spooled_calls(home)] == [b"payload"]


def test_a_socket_that_nobody_listens_on_counts_as_no_daemon(run: Run, home: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/s")
        Path(f"{folder}/s").rename(home / "daemon.sock")
    assert run().stdout == b"{}"
    assert "ConnectionRefusedError" in (home / "log" / "hook.log").read_text()
    assert (home / "daemon.starting").exists()


@pytest.mark.parametrize("in_its_usual_place", [True, False])
def test_the_daemon_starts_free_of_the_agent(
    tmp_path: Path, command: Command, interpreter: Path, *, in_its_usual_place: bool
) -> None:
    home = tmp_path / ".tokeneconomizer"
    home.mkdir()
    report = open_report(home)
    user = tmp_path if in_its_usual_place else tmp_path / "user"
    needed = {"HOME": str(user), "PATH": os.defpath, "LANG": "C.UTF-8", "TMPDIR": str(tmp_path)}
    if not in_its_usual_place:
        needed["TOKENECONOMIZER_HOME"] = str(home)
    reader, writer = os.pipe()
    result = subprocess.run(
        command("SessionStart"),
        input=b"payload",
        env={**needed, **KEYS},
        capture_output=True,
        pass_fds=[writer],
        check=False,
        timeout=PATIENCE_S,
    )
    os.close(writer)
    assert result.stdout == b"{}"
    told = read_report(report)
    assert os.read(reader, 1) == b""
    os.close(reader)
    environment = told.pop("environment")
    assert isinstance(environment, dict)
    # What an interpreter sets for itself.
    for name in ("LC_CTYPE", "__CF_USER_TEXT_ENCODING"):
        environment.pop(name, None)
    assert environment == needed
    assert told == {
        "standard streams are null": True,
        "other descriptors": [],
        "folder": str(home),
        "isolated": 1,
        "interpreter": str(interpreter),
        "leads its session": True,
    }


def test_the_payload_is_kept_when_the_daemon_cannot_be_started(run: Run, home: Path) -> None:
    (home / "daemon.starting").mkdir()
    assert run(payload=b"payload").stdout == b"{}"
    assert [spooled.payload for spooled in spooled_calls(home)] == [b"payload"]


@pytest.mark.parametrize(
    ("stamp", "may_start"),
    [
        (None, True),
        (b"", True),
        (b"garbage", True),
        (b"\xff" * 100, True),
        (b"%d" % NOW_NS, False),
        (b"%d" % (NOW_NS - hook_cold.DAEMON_START_INTERVAL_S * SECOND_NS + 1), False),
        (b"%d" % (NOW_NS - hook_cold.DAEMON_START_INTERVAL_S * SECOND_NS), True),
        (b"%d" % (NOW_NS + 1), True),
        (b"%d" % (NOW_NS + 86_400 * SECOND_NS), True),
    ],
)
def test_one_start_within_an_interval_also_when_the_clock_was_set_back(
    home: Path, monkeypatch: pytest.MonkeyPatch, stamp: bytes | None, *, may_start: bool
) -> None:
    monkeypatch.chdir(home)
    if stamp is not None:
        (home / "daemon.starting").write_bytes(stamp)
    assert hook_cold.take_turn_to_start(NOW_NS) is may_start
    assert hook_cold.take_turn_to_start(NOW_NS) is False


def test_a_hook_that_finds_another_one_starting_a_daemon_does_not(run: Run, home: Path) -> None:
    with (home / "daemon.starting").open("wb") as stamp:
        os.lockf(stamp.fileno(), os.F_LOCK, 1)
        assert run().stdout == b"{}"
    assert (home / "daemon.starting").read_bytes() == b""


def test_the_client_also_runs_as_a_module_of_the_package(home: Path) -> None:
    code = "from tokeneconomizer.hosts.hook.te_hook_core import main; main()"
    with (home / "daemon.starting").open("wb") as stamp:
        os.lockf(stamp.fileno(), os.F_LOCK, 1)
        result = subprocess.run(
            [sys.executable, "-I", "-c", code, "--event", "Stop"],
            input=b"payload",
            env={"TOKENECONOMIZER_HOME": str(home)},
            capture_output=True,
            check=False,
        )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert [(spooled.event, spooled.payload) for spooled in spooled_calls(home)] == [("Stop", b"payload")]


@pytest.mark.parametrize(("event", "empty"), [("Stop", b"{}"), ("PreCompact", b"")])
def test_a_half_replaced_installation_still_gives_the_empty_reply(
    tmp_path: Path, event: str, empty: bytes
) -> None:
    launcher = Path(hook_cold.__file__).with_name("launcher.py")
    shutil.copy(launcher, tmp_path / "launcher.py")
    for core in ("", "syntax error", "raise SystemExit(3)"):
        (tmp_path / "te_hook_core.py").write_text(core)
        result = subprocess.run(
            [sys.executable, "-I", "-S", "-B", str(tmp_path / "launcher.py"), "--event", event],
            input=b"payload",
            capture_output=True,
            check=False,
        )
        assert (result.returncode, result.stdout, result.stderr) == (0, empty, b"")


def open_report(home: Path) -> int:
    os.mkfifo(home / "report")
    return os.open(home / "report", os.O_RDONLY | os.O_NONBLOCK)


def read_report(pipe: int) -> dict[str, object]:
    assert select.select([pipe], [], [], PATIENCE_S)[0], "no daemon was started"
    os.set_blocking(pipe, True)
    with open(pipe, "rb") as stream:
        report: dict[str, object] = json.load(stream)
    return report
