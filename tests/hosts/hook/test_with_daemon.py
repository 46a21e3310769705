import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

import pytest

from tokeneconomizer.hosts.hook import te_hook_core, wire

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Command = Callable[..., list[str]]

REPLY = b'{"systemMessage": "\xc3\xa9 and \xff"}'
# Long enough for a loaded machine; a test that works never waits for it.
PATIENCE_S = 30


class FakeDaemon:
    """Takes one call, gives `answer` as it stands, and keeps what it was told."""

    def __init__(self, home: Path, answer: bytes, *, stays_open: bool = True) -> None:
        self.answer = answer
        self.stays_open = stays_open
        self.line = b""
        self.environment = b""
        self.payload = b""
        self.after_reply = b""
        self.called = Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.settimeout(PATIENCE_S)
        # A socket's address must be short, the file may then go anywhere.
        with tempfile.TemporaryDirectory() as folder:
            self.listener.bind(f"{folder}/s")
            Path(f"{folder}/s").rename(home / "daemon.sock")
        self.listener.listen()
        self.thread = Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE_S)
        with connection, connection.makefile("rb") as stream:
            self.line = stream.readline()
            header = wire.parse_header(self.line)
            self.environment = stream.read(header.environment_length)
            self.payload = stream.read(header.payload_length)
            self.called.set()
            connection.sendall(self.answer)
            if self.stays_open:
                self.after_reply = stream.read()

    @property
    def header(self) -> wire.Header:
        return wire.parse_header(self.line)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.thread.join(PATIENCE_S)
        self.listener.close()


def spooled_calls(home: Path) -> list[wire.Spooled]:
    spool = home / "spool"
    return [wire.parse_spooled(path.read_bytes()) for path in spool.iterdir()] if spool.exists() else []


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionStart"])
@pytest.mark.parametrize(
    "payload", [b"{}", b"", b"\xff\xfe\0", b"x" * 300_000, b"y" * wire.PAYLOAD_BYTES_MAX], ids=len
)
def test_payload_and_reply_pass_unchanged_and_the_delivery_is_confirmed(
    run: Run, home: Path, event: str, payload: bytes
) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", REPLY)) as daemon:
        result = run(event, payload)
    assert (result.returncode, result.stdout, result.stderr) == (0, REPLY, b"")
    assert daemon.payload == payload
    assert daemon.after_reply == wire.CONFIRMATION
    assert (daemon.header.kind, daemon.header.host, daemon.header.via) == ("hook", "claude_code", "plugin")
    assert daemon.header.event == event
    assert spooled_calls(home) == []


@pytest.mark.parametrize("reply", [b"{}", b""])
def test_a_silent_reply_needs_no_confirmation(run: Run, home: Path, reply: bytes) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", reply)) as daemon:
        result = run("PreCompact")
    assert (result.returncode, result.stdout) == (0, reply)
    assert daemon.after_reply == b""


def test_a_long_reply_arrives_whole(run: Run, home: Path) -> None:
    reply = b'{"a": "' + b"x" * (wire.REPLY_BYTES_MAX - 9) + b'"}'
    with FakeDaemon(home, wire.encode_reply("1.0", reply)) as daemon:
        result = run()
    assert result.stdout == reply
    assert daemon.after_reply == wire.CONFIRMATION


def test_the_client_writes_what_the_protocol_module_writes(run: Run, home: Path) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", b"{}")) as daemon:
        run("SessionStart", b"payload", variables={"TOKENECONOMIZER_HOME": str(home), "LANG": "C"})
    header = daemon.header
    assert wire.encode_request(
        "hook",
        host="claude_code",
        event="SessionStart",
        via="plugin",
        time_ns=header.time_ns,
        delivery_id=header.delivery_id,
        environment=daemon.environment,
        payload=b"payload",
    ) == (daemon.line + daemon.environment + daemon.payload)


@pytest.mark.parametrize("size", [wire.PAYLOAD_BYTES_MAX + 1, 50_000_000])
def test_a_payload_over_the_limit_is_read_to_its_end_and_only_announced(
    run: Run, home: Path, size: int
) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", b"{}")) as daemon:
        result = run(payload=b"x" * size)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert (daemon.header.kind, daemon.header.payload_length) == ("oversize", 0)


@pytest.mark.parametrize(
    ("event", "sent"),
    [
        ("SessionStart", True),
        ("sessionStart", True),
        ("session_start", True),
        ("SessionEnd", False),
        ("UserPromptSubmit", False),
        ("SessionStartx", False),
    ],
)
def test_listed_variables_go_to_the_daemon_at_session_starts_only(
    run: Run, home: Path, event: str, *, sent: bool
) -> None:
    listed = {"ANTHROPIC_API_KEY": "canary", "https_proxy": "http://proxy:1", "CODEX_HOME": "/codex \udcff"}
    others = {"AWS_SECRET_ACCESS_KEY": "canary", "PYTHONPATH": "/nowhere", "TOKENECONOMIZER_HOME": str(home)}
    with FakeDaemon(home, wire.encode_reply("1.0", b"{}")) as daemon:
        run(event, variables={**listed, **others})
    assert wire.parse_environment(daemon.environment) == ({"PATH": os.defpath, **listed} if sent else {})


@pytest.mark.parametrize(
    ("flags", "host", "event", "via"),
    [
        ([], "-", "-", "-"),
        (["--event"], "-", "-", "-"),
        (["--event", "--host", "codex"], "codex", "-", "-"),
        (["--event", "A", "--event", "B", "--unknown", "--host", "pi"], "pi", "B", "-"),
        (["--event", "two words", "--host", "", "--via", "x" * 41], "-", "-", "-"),
        (["--event", "line\nend", "--host", "é", "--via", "../etc"], "-", "-", "-"),
        (["--event", b"\xff\xfe", "--host", b"\xc3", "--via", "a.b-c_d"], "-", "-", "a.b-c_d"),
    ],
)
def test_flags_that_are_not_plain_names_become_dashes(
    run: Run, home: Path, flags: list[str | bytes], host: str, event: str, via: str
) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", b"{}")) as daemon:
        result = run(flags=flags)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert (daemon.header.host, daemon.header.event, daemon.header.via) == (host, event, via)


def test_a_home_with_a_long_path_is_reached(run: Run, tmp_path: Path) -> None:
    home = tmp_path / ("long " * 30) / ("é" * 60)
    home.mkdir(parents=True)
    with FakeDaemon(home, wire.encode_reply("1.0", REPLY)) as daemon:
        result = run(variables={"TOKENECONOMIZER_HOME": str(home)})
    assert result.stdout == REPLY
    assert daemon.after_reply == wire.CONFIRMATION


@pytest.mark.parametrize("chosen", ["relative", "~/state", ""])
def test_a_chosen_home_that_is_not_absolute_is_passed_over(run: Run, tmp_path: Path, chosen: str) -> None:
    (tmp_path / ".tokeneconomizer").mkdir()
    with FakeDaemon(tmp_path / ".tokeneconomizer", wire.encode_reply("1.0", REPLY)):
        result = run(variables={"HOME": str(tmp_path), "TOKENECONOMIZER_HOME": chosen})
    assert result.stdout == REPLY


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"TE1 1.0",
        b"\n",
        b"TE1 1.0 -1\nabc",
        b"TE1 1.0 3 4\nabc",
        b"TE2 1.0 3\nabc",
        b"TE1 1.0 9\nabc",
        b"TE1 1.0 99999999999\nabc",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"x" * 100_000,
        b"\xff" * 10 + b"\n",
    ],
)
@pytest.mark.parametrize(("event", "empty"), [("Stop", b"{}"), ("PreCompact", b"")])
def test_an_answer_that_breaks_the_protocol_is_spooled_and_starts_no_daemon(
    run: Run, home: Path, answer: bytes, event: str, empty: bytes
) -> None:
    with FakeDaemon(home, answer, stays_open=False) as daemon:
        result = run(event, b"payload")
    assert (result.returncode, result.stdout, result.stderr) == (0, empty, b"")
    (spooled,) = spooled_calls(home)
    assert (spooled.reply, spooled.payload) == (empty, b"payload")
    assert spooled.delivery_id == daemon.header.delivery_id
    assert not (home / "daemon.starting").exists()


def test_a_daemon_that_does_not_answer_is_left_at_the_deadline_though_signals_are_blocked(
    home: Path, command: Command
) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    with FakeDaemon(home, b"") as daemon:
        try:
            result = subprocess.run(
                command(), input=b"payload", env=hook_environment(home), capture_output=True, check=False
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert [spooled.delivery_id for spooled in spooled_calls(home)] == [daemon.header.delivery_id]
    assert not (home / "daemon.starting").exists()
    assert "DeadlineError" in (home / "log" / "hook.log").read_text()


def test_an_interrupt_from_the_keyboard_changes_nothing(home: Path, command: Command) -> None:
    with FakeDaemon(home, b"") as daemon:
        process = subprocess.Popen(
            command(),
            env=hook_environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            assert process.stdin is not None
            process.stdin.write(b"payload")
            process.stdin.close()
            process.stdin = None
            assert daemon.called.wait(PATIENCE_S)
            process.send_signal(signal.SIGINT)
            output = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (0, (b"{}", b""))


def test_a_closed_stdout_is_never_taken_for_a_delivery(run: Run, home: Path) -> None:
    with FakeDaemon(home, wire.encode_reply("1.0", REPLY)) as daemon:
        result = run(script='exec "$@" >&-')
    assert (result.returncode, result.stderr) == (0, b"")
    assert daemon.after_reply == b""


def test_a_stdout_without_a_reader_is_never_taken_for_a_delivery(home: Path, command: Command) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with FakeDaemon(home, wire.encode_reply("1.0", REPLY)) as daemon:
        result = subprocess.run(
            command(),
            input=b"payload",
            env=hook_environment(home),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
    assert daemon.after_reply == b""


def test_pipes_that_do_not_block_are_read_and_written_whole(home: Path, command: Command) -> None:
    stdin_reader, stdin_writer = os.pipe()
    os.set_blocking(stdin_reader, False)
    reply = b'"' + b"x" * 500_000 + b'"'
    with FakeDaemon(home, wire.encode_reply("1.0", reply)) as daemon:
        ours, theirs = socket.socketpair()
        theirs.settimeout(0)
        with subprocess.Popen(
            command(), env=hook_environment(home), stdin=stdin_reader, stdout=theirs.fileno()
        ) as process:
            theirs.close()
            os.write(stdin_writer, b"payload")
            os.close(stdin_writer)
            with ours, ours.makefile("rb") as stream:
                received = stream.read()
    os.close(stdin_reader)
    assert (process.returncode, received) == (0, reply)
    assert (daemon.payload, daemon.after_reply) == (b"payload", wire.CONFIRMATION)


def test_a_side_call_of_our_own_is_not_even_read(run: Run, home: Path) -> None:
    for event, empty in (("Stop", b"{}"), ("PreCompact", b"")):
        result = run(event, variables={"TOKENECONOMIZER_HOME": str(home), "TOKENECONOMIZER_SIDE_CALL": "1"})
        assert (result.returncode, result.stdout, result.stderr) == (0, empty, b"")
    assert list(home.iterdir()) == []


def test_the_fast_path_imports_only_what_is_part_of_the_interpreter() -> None:
    folder = Path(te_hook_core.__file__).parent
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import te_hook_core; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True)
    loaded = result.stdout.decode().split()
    assert "te_hook_core" in loaded
    assert not {"os", "signal", "socket", "re", "json", "contextlib", "hook_cold", "wire"} & set(loaded)


def hook_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "TOKENECONOMIZER_HOME": str(home)}
