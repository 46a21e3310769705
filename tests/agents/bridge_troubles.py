"""What can be wrong with the daemon while an agent runs, each as a context for the time of the run."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from installed_program import Program

from tokeneconomizer.scheduler.lock import held

SOCKET_NAME = "daemon.sock"
POLL_S = 0.05
CHUNK_BYTES = 65_536

HasBegun = Callable[[], bool]  # whether the agent is in the midst of its turn
Trouble = Callable[[Program, HasBegun], AbstractContextManager[None]]
Reply = Callable[[socket.socket], None]


@contextmanager
def absent(program: Program, _has_begun: HasBegun | None = None) -> Iterator[None]:
    """There is no socket, and no daemon can start."""
    program.home.mkdir(mode=0o700, exist_ok=True)
    with held(program.home / "daemon.lock"):
        yield


@contextmanager
def refused(program: Program, _has_begun: HasBegun) -> Iterator[None]:
    """A socket of a process that is gone."""
    with absent(program):
        dead = socket.socket(socket.AF_UNIX)
        dead.bind(str(program.home / SOCKET_NAME))
        dead.close()
        yield
        (program.home / SOCKET_NAME).unlink()


def _in_mid_turn(act: Callable[[Program], None]) -> Trouble:
    @contextmanager
    def trouble(program: Program, has_begun: HasBegun) -> Iterator[None]:
        program.start()
        is_over = threading.Event()

        def wait_and_act() -> None:
            while not has_begun() and not is_over.wait(POLL_S):
                pass
            act(program)

        actor = threading.Thread(target=wait_and_act)
        actor.start()
        try:
            yield
        finally:
            is_over.set()
            actor.join()

    return trouble


def _restart(program: Program) -> None:
    program.stop()
    program.start()


def answered_by(reply: Reply) -> Trouble:
    """Return the trouble that whoever has the socket answers each request in a way of its own."""

    @contextmanager
    def trouble(program: Program, _has_begun: HasBegun) -> Iterator[None]:
        with absent(program):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(program.home / SOCKET_NAME))
            listener.listen(64)
            accepted: list[socket.socket] = []
            thread = threading.Thread(target=_serve, args=(listener, reply, accepted), daemon=True)
            thread.start()
            yield
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in (listener, *accepted):
                connection.close()
            (program.home / SOCKET_NAME).unlink()

    return trouble


def _serve(listener: socket.socket, reply: Reply, accepted: list[socket.socket]) -> None:
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        accepted.append(connection)
        threading.Thread(target=_answer, args=(connection, reply), daemon=True).start()


def _answer(connection: socket.socket, reply: Reply) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(CHUNK_BYTES):
            reply(connection)


def says_nothing(_connection: socket.socket) -> None:
    """Take a request, and never answer."""


def says_garbage(connection: socket.socket) -> None:
    """Answer with what is no reply."""
    connection.sendall(os.urandom(512) + b"\n" + b"{" * 512)


def hangs_up(connection: socket.socket) -> None:
    """Hang up in the midst of the reply."""
    connection.sendall(b'TE1 0.1.0 100\n{"context": "half a')
    connection.shutdown(socket.SHUT_RDWR)


def is_of_another_version(connection: socket.socket) -> None:
    """Hang up on a request, as a daemon does that does not know its kind."""
    connection.shutdown(socket.SHUT_RDWR)


TROUBLES: dict[str, Trouble] = {
    "started by the first call": lambda _program, _has_begun: nullcontext(),
    "absent": absent,
    "refused": refused,
    "slow": answered_by(says_nothing),
    "garbage": answered_by(says_garbage),
    "closed in mid-reply": answered_by(hangs_up),
    "of another version": answered_by(is_of_another_version),
    "killed": _in_mid_turn(Program.kill),
    "restarted": _in_mid_turn(_restart),
}
"""By name, for the ledger."""
