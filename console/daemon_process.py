"""Starting, stopping and looking at the daemon; what tells that it lives is its lock, never a pid."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import DaemonUnreachable
from tokeneconomizer.scheduler import lock
from tokeneconomizer.scheduler.home import HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.scheduler.home import Home

START_S_MAX = 15.0
"""It takes half a second; storing a spool that filled for weeks takes some more."""

STOP_S_MAX = 10.0
"""It ends what it is answering, and lets go."""

ASK_AGAIN_S = 0.5
"""A daemon lets go of its lock in some hundredths of a second."""

POLL_S = 0.02
"""A person does not notice it."""

ENVIRONMENT_NAMES = ("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "GIT_CEILING_DIRECTORIES")
"""What the daemon needs to find its state and its programs; the rest is the business of this terminal."""


@dataclass(frozen=True, slots=True)
class DaemonState:
    """
    What is known of a home's daemon.

    Attributes:
        running: whether a process holds the lock.
        answers: whether it says how it is; what follows is None otherwise.

    """

    running: bool
    answers: bool = False
    pid: int | None = None
    version: str | None = None
    started_at: str | None = None
    spooled: int | None = None
    store_problem: str | None = None
    configuration_problem: str | None = None
    judge_problem: str | None = None
    proposer_problem: str | None = None
    agents_heard: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, object]:
        """Return the state as JSON values."""
        return asdict(self)


def state_of(home: Home) -> DaemonState:
    """Return how the daemon is; never raises for one that is absent or hangs."""
    if not lock.is_held(home.lock):
        return DaemonState(running=False)
    return answer_of(home) or DaemonState(running=True)


def answer_of(home: Home) -> DaemonState | None:
    """Return what the daemon says of itself, or None when it says nothing."""
    if not home.socket.exists():
        return None
    # Imported only when there may be a daemon to speak with.
    from tokeneconomizer.scheduler import client  # noqa: PLC0415

    try:
        reply = client.ask(home, "status")
    except DaemonUnreachable:
        return None
    data = reply.data
    return DaemonState(
        running=True,
        answers=True,
        pid=_number(data, "pid"),
        version=reply.version,
        started_at=_text(data, "started_at"),
        spooled=_number(data, "spooled"),
        store_problem=_text(data, "store_problem"),
        configuration_problem=_text(data, "configuration_problem"),
        judge_problem=_text(data, "judge_problem"),
        proposer_problem=_text(data, "proposer_problem"),
        agents_heard=_texts(data, "agents_heard"),
    )


def start(home: Home) -> bool:
    """
    Start the daemon, detached from this process, and wait until it answers.

    One of an older version is asked to leave first: it was running while the program was upgraded.

    Returns:
        False when one ran already.

    Raises:
        DaemonUnreachable: it ends at once, or does not answer in time.

    """
    running = state_of(home)
    if running.answers:
        if not _is_older(running.version):
            return False
        stop(home)
    home.create()
    deadline = time.monotonic() + START_S_MAX
    process: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        if answer_of(home) is not None:
            return True
        # 0: none was started yet, or ours found that another process held the lock.
        status = 0 if process is None else process.poll()
        if status:
            message = (
                f"the daemon ended at once (status {status}): see the end of {home.log}, "
                "or watch it with `te daemon run`"
            )
            raise DaemonUnreachable(message)
        # A probe holds the lock for a moment: never while a daemon of ours may want it.
        if status == 0 and not lock.is_held(home.lock):
            process = _spawn(home)
        time.sleep(POLL_S)
    message = (
        f"the daemon does not answer after {START_S_MAX:.0f} s: see the end of {home.log}, "
        "then `te daemon status`"
    )
    raise DaemonUnreachable(message)


def _is_older(version: str | None) -> bool:
    # Imported only here: starting is the only command that compares versions.
    from tokeneconomizer.console.output import program_version  # noqa: PLC0415
    from tokeneconomizer.hosts.hook.hook_cold import is_older  # noqa: PLC0415

    return is_older((version or "").encode(), program_version().encode())


def stop(home: Home) -> bool:
    """
    Ask the daemon to stop, and wait until it has let go of its lock.

    Returns:
        False when none ran.

    Raises:
        DaemonUnreachable: it does not answer, or goes on.

    """
    if not lock.is_held(home.lock):
        return False
    deadline = time.monotonic() + STOP_S_MAX
    problem: DaemonUnreachable | None = None
    while lock.is_held(home.lock):
        if time.monotonic() > deadline:
            words = f"said that it stops and still runs after {STOP_S_MAX:.0f} s: see the end of {home.log}"
            raise problem or DaemonUnreachable(f"the daemon {words}")
        # Asked again: one that a hook has started meanwhile may wait for the lock of the one that leaves.
        problem = _ask_to_stop(home)
        _wait_until_free(home, min(deadline, time.monotonic() + ASK_AGAIN_S))
    return True


def _ask_to_stop(home: Home) -> DaemonUnreachable | None:
    """Ask; return why nobody listens: one that leaves does not any more, a new one soon does."""
    from tokeneconomizer.scheduler import client  # noqa: PLC0415 - as above

    try:
        client.ask(home, "stop")
    except DaemonUnreachable as error:
        if not isinstance(error.__cause__, FileNotFoundError | ConnectionRefusedError):
            raise
        return error
    return None


def _wait_until_free(home: Home, until: float) -> None:
    while time.monotonic() < until and lock.is_held(home.lock):
        time.sleep(POLL_S)


def _spawn(home: Home) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in ENVIRONMENT_NAMES if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
        cwd=home.root,
        env={**environment, HOME_VARIABLE: str(home.root)},
    )


def _number(data: Mapping[str, object], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) else None


def _text(data: Mapping[str, object], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) else None


def _texts(data: Mapping[str, object], name: str) -> tuple[str, ...] | None:
    value = data.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else None
