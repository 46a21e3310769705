"""After an upgrade an older daemon is asked to leave; a daemon that was slow is left alone for a while."""

from __future__ import annotations

import os
import socket
import tempfile
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Self

import pytest

from tokeneconomizer.hosts.hook import te_hook_core, wire

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Run = Callable[..., subprocess.CompletedProcess[bytes]]

PATIENCE_S = 30


class Listener:
    """A daemon of some version: answers every connection with `{}`, and keeps what kind of call it was."""

    def __init__(self, home: Path, daemon_version: str) -> None:
        self.version = daemon_version
        self.kinds: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX)
        with tempfile.TemporaryDirectory() as folder:
            self._socket.bind(f"{folder}/s")
            Path(f"{folder}/s").rename(home / "daemon.sock")
        self._socket.listen()
        self._thread = Thread(target=self._serve)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                connection.settimeout(PATIENCE_S)
                header = wire.parse_header(stream.readline())
                stream.read(header.payload_length)
                self.kinds.append(header.kind)
                connection.sendall(wire.encode_reply(self.version, b"{}"))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._socket.close()


def test_the_client_knows_its_programs_version() -> None:
    assert te_hook_core.PROGRAM_VERSION.decode() == version("tokeneconomizer")


@pytest.mark.parametrize(
    ("daemon_version", "kinds"),
    [
        ("0.0.9", ["hook", "stop"]),
        (version("tokeneconomizer"), ["hook"]),
        ("99.0.0", ["hook"]),
        ("of-a-fork", ["hook"]),
    ],
)
def test_only_an_older_daemon_is_asked_to_leave(
    run: Run, home: Path, daemon_version: str, kinds: list[str]
) -> None:
    with Listener(home, daemon_version) as daemon:
        result = run()

    assert (result.returncode, result.stdout, result.stderr) == (0, b"{}", b"")
    assert daemon.kinds == kinds
    assert (home / "daemon.starting").exists() is ("stop" in kinds)


def test_of_many_hooks_after_an_upgrade_one_asks(run: Run, home: Path) -> None:
    with Listener(home, "0.0.9") as daemon:
        run()
        run()

    assert daemon.kinds == ["hook", "stop", "hook"]


@pytest.mark.parametrize(
    ("age_s", "kinds"),
    [
        (0, []),
        (te_hook_core.SLOW_PAUSE_S + 1, ["hook"]),
        (-3_600, ["hook"]),  # the clock was set back
    ],
)
def test_a_daemon_that_was_slow_is_called_again_after_a_pause(
    run: Run, home: Path, age_s: int, kinds: list[str]
) -> None:
    mark = home / "daemon.slow"
    mark.touch()
    then = mark.stat().st_mtime - age_s
    os.utime(mark, (then, then))
    with Listener(home, version("tokeneconomizer")) as daemon:
        result = run()

    assert result.stdout == b"{}"
    assert daemon.kinds == kinds
    spool = home / "spool"
    assert (len(list(spool.iterdir())) if spool.exists() else 0) == 1 - len(kinds)
    assert not (home / "daemon.starting").exists()


def test_missing_a_deadline_leaves_the_mark(run: Run, home: Path) -> None:
    silent = socket.socket(socket.AF_UNIX)
    with tempfile.TemporaryDirectory() as folder:
        silent.bind(f"{folder}/s")
        Path(f"{folder}/s").rename(home / "daemon.sock")
    silent.listen()
    result = run()
    silent.close()

    assert result.stdout == b"{}"
    assert (home / "daemon.slow").exists()
