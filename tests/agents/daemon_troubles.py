"""A daemon that is slow, absent or killed while an agent works: nothing in the agent's run may change."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from installed_program import Program

from tokeneconomizer.scheduler.lock import held


@contextmanager
def a_daemon_that_never_answers(program: Program) -> Iterator[None]:
    """A socket that takes every connection and says nothing, under the daemon's own lock."""
    program.home.mkdir(mode=0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(program.home / "daemon.sock"))
    listener.listen(64)
    kept: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    with held(program.home / "daemon.lock"):
        yield
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    for connection in [listener, *kept]:
        connection.close()
    (program.home / "daemon.sock").unlink()


@contextmanager
def no_daemon_can_start(program: Program) -> Iterator[None]:
    """The daemon's lock, held by another."""
    program.home.mkdir(mode=0o700, exist_ok=True)
    with held(program.home / "daemon.lock"):
        yield


@contextmanager
def a_daemon_killed_in_mid_session(program: Program) -> Iterator[None]:
    """A daemon that is killed after a second."""
    program.start()
    killer = threading.Timer(1.0, program.kill)
    killer.start()
    yield
    killer.join()
