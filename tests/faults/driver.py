"""
Runs works in child processes that end themselves at a named moment: `python -I driver.py`, a JSON line a run.

Everything is imported once and then forked, so that a run takes milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

import simulated_agents  # noqa: E402 - found on the path above
import simulated_daemon  # noqa: E402
from killing import Where, set_trap  # noqa: E402
from works import DAEMONS, WORKS, enter, reaches_listening  # noqa: E402

import tokeneconomizer.console.main  # noqa: E402
import tokeneconomizer.scheduler.daemon  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IMPORTED = (
    simulated_agents,
    simulated_daemon,
    tokeneconomizer.console.main,
    tokeneconomizer.scheduler.daemon,
)
PATIENCE_S = 60
NOT_FINISHED = 70


@dataclass
class Child:
    """A forked process and the pipe on which it says where it kills itself."""

    pid: int
    told: int

    def ended(self) -> dict[str, object]:
        """Wait for its end; say how it ended and where it killed itself."""
        _, status = os.waitpid(self.pid, 0)
        where = os.read(self.told, 4096).decode()
        os.close(self.told)
        return {"status": os.waitstatus_to_exitcode(status), "killed_at": where}


def fork(place: Path, perform: Callable[[], None], where: Mapping[str, object] | None) -> Child:
    told, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        return Child(pid, told)
    try:
        os.close(told)
        signal.alarm(PATIENCE_S)
        _leave_the_drivers_streams(place)
        enter(place)
        if where is not None:
            set_trap(Where(**where), tell)  # type: ignore[arg-type]
        perform()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not go on as a second driver
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(NOT_FINISHED)


def _leave_the_drivers_streams(place: Path) -> None:
    log = os.open(place / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def run(request: Mapping[str, object]) -> list[dict[str, object]]:
    """Run a daemon if one is wanted, and the work beside it; return how each ended."""
    place = Path(str(request["place"]))
    traps = request["traps"]
    assert isinstance(traps, dict)
    ended = []
    daemon = None
    if request["daemon"]:
        serve = DAEMONS[str(request["daemon"])]
        ours, theirs = socket.socketpair()
        daemon = fork(place, lambda: serve(place, theirs.fileno()), traps.get("daemon"))
        theirs.close()
        reaches_listening(ours.fileno())
        ours.close()
    if request["work"]:
        work = WORKS[str(request["work"])]
        ended.append(fork(place, lambda: work(place), traps.get("work")).ended())
    if daemon is not None:
        if request["work"] and "daemon" not in traps:
            os.kill(daemon.pid, signal.SIGTERM)
        ended.append(daemon.ended())
    return ended


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
