"""
What can be wrong with the daemon while an agent runs, each as a context for the time of the run.

In none of them anything in the agent's run may change, and every call is stored afterwards.
"""

import contextlib
import os
import socket
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext

from installed_program import Program

from tokeneconomizer.scheduler.lock import held

SOCKET_NAME = "daemon.sock"
POLL_S = 0.05
RUNS = 5  # a median of so many
CHUNK_BYTES = 65_536

HasBegun = Callable[[], bool]  # whether the agent is in the midst of its turn
Trouble = Callable[[Program, HasBegun], AbstractContextManager[None]]
Reply = Callable[[socket.socket], None]


@contextmanager
def absent(program: Program, _has_begun: HasBegun | None = None) -> Iterator[None]:
    """There is no socket, and no daemon can start."""
    program.home.mkdir(mode=0o700, exist_ok=True)
    program.stop()
    with held(program.home / "daemon.lock"):
        yield


@contextmanager
def refused(program: Program, _has_begun: HasBegun) -> Iterator[None]:
    """A socket of a process that is gone."""
    with absent(program):
        _bound(program).close()
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
            listener = _bound(program)
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


def _bound(program: Program) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    with chdir(program.home):  # a socket's path may have about 104 bytes
        listener.bind(SOCKET_NAME)
    return listener


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


def knows_no_such_request(connection: socket.socket) -> None:
    """Hang up on a request, as a daemon of another version does that does not know its kind."""
    connection.shutdown(socket.SHUT_RDWR)


def is_newer(connection: socket.socket) -> None:
    """Answer as a daemon of a later version that has nothing to say."""
    connection.sendall(b"TE1 99.0.0 2\n{}")


def killed_before(program: Program, _has_begun: HasBegun) -> AbstractContextManager[None]:
    """A daemon that is killed right before the run: its socket is left, and another one may start."""
    program.start()
    program.kill()
    return nullcontext()


TROUBLES: dict[str, Trouble] = {
    "started by the first call": lambda _program, _has_begun: nullcontext(),
    "absent": absent,
    "refused": refused,
    "slow": answered_by(says_nothing),
    "garbage": answered_by(says_garbage),
    "closed in mid-reply": answered_by(hangs_up),
    "of another version": answered_by(knows_no_such_request),
    "killed": _in_mid_turn(Program.kill),
    "restarted": _in_mid_turn(_restart),
}
"""By name, for the ledger."""

TIMED: Mapping[str, Trouble] = {name: TROUBLES[name] for name in ("absent", "slow")} | {
    "killed": killed_before
}
"""Those whose time is told."""


def median_seconds(runs: Mapping[str, Callable[[], float]], *, rounds: int = RUNS) -> dict[str, float]:
    """Return the median of each kind of run; they take turns, so that a busy machine is busy for all."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(run())
    return {name: statistics.median(times) for name, times in seconds.items()}
