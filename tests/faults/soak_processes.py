"""
Real processes for long: `python tests/faults/soak_processes.py --calls 3000 [--seed N]`.

Hook clients as an agent starts them, and the daemon that they start, which is killed, ended and stopped again
and again: before a call, in the middle of one, and between two. In the end each call that was answered is in
the log, once and in its place. The simulator (`soak.py`) meets far more moments; here nothing is shared
between two lives of a daemon but its files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from daemon_runs import output_of, start, status, until  # noqa: E402 - found on the path above
from history import History  # noqa: E402
from simulated_agents import THINGS, Agents, Sent  # noqa: E402
from workbench import rows_of  # noqa: E402

from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home  # noqa: E402
from tokeneconomizer.scheduler.lock import is_held  # noqa: E402

LAUNCHER = Path(__file__).parents[2] / "hosts" / "hook" / "launcher.py"
CALLS = 3_000
SESSIONS = 3
SUB_AGENTS = 2
FAULTS = {"none": 90, "killed": 3, "killed in a call": 4, "ended": 2, "stopped": 1}
"""How often each befalls a call, of a hundred."""

IN_A_CALL_S = (0.004, 0.016)
"""When a hook client that takes ten milliseconds speaks with the daemon."""

PROGRESS_EVERY = 500


@dataclass
class House:
    """A home, its agents, and what they were told."""

    home: Home
    chance: random.Random
    agents: Agents = field(default_factory=Agents)
    answered: list[tuple[Sent, datetime]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)

    def act(self) -> None:
        """Have an agent do something, each of its calls with its own fate."""
        session, agent = self.chance.randrange(SESSIONS), self.chance.randrange(SUB_AGENTS)
        for sent in self.agents.send(session, agent, self.chance.choice(THINGS)):
            (fault,) = self.chance.choices(list(FAULTS), list(FAULTS.values()))
            self.faults[fault] += 1
            self._call(sent, fault)

    def _call(self, sent: Sent, fault: str) -> None:
        at = datetime.now(UTC)
        match fault:
            case "killed":
                self._signal(signal.SIGKILL)
            case "ended":
                self._signal(signal.SIGTERM)
            case "stopped":
                self._signal(signal.SIGSTOP)
            case "killed in a call":
                Timer(self.chance.uniform(*IN_A_CALL_S), self._signal, [signal.SIGKILL]).start()
            case _:
                pass
        self._hook(sent)
        self.answered.append((sent, at))
        if fault == "stopped":
            self._signal(signal.SIGCONT, self._pid)
            (self.home.root / "daemon.slow").unlink(missing_ok=True)
        if fault != "none":
            # Else the next daemon would come five seconds after the one before.
            (self.home.root / "daemon.starting").unlink(missing_ok=True)

    def _hook(self, sent: Sent) -> None:
        flags = ["--host", "claude_code", "--event", sent.event, "--via", "plugin"]
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(LAUNCHER), *flags],
            input=sent.payload,
            env={"PATH": os.defpath, "HOME": str(self.home.root.parent), HOME_VARIABLE: str(self.home.root)},
            capture_output=True,
            check=True,
        )
        assert not done.stderr, f"the hook client says {done.stderr!r}"
        if done.stdout:
            json.loads(done.stdout)

    def _signal(self, number: signal.Signals, pid: int = 0) -> None:
        told = None if pid else status(self.home)
        self._pid = pid or int(str(told["pid"]) if told else 0)
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def leave(self) -> None:
        """Have no daemon go on."""
        self._signal(signal.SIGKILL)

    def finish(self) -> History:
        """Have a daemon store what waits, and look whether all that was answered is there."""
        # One that a hook client started may be about to take the lock: then ours leaves.
        ours = start(self.home)
        until(lambda: (told := status(self.home)) is not None and told["spooled"] == 0)
        self._signal(signal.SIGTERM)
        until(lambda: not is_held(self.home.lock))
        if ours.poll() is None:
            ours.terminate()
        output_of(ours)
        history = History(self.home.events, self.home.key())
        history.take()
        assert not self.home.refused.exists(), "a call was set aside"
        assert not [path for path in self.home.spool.iterdir() if not path.name.startswith(".")]
        for sent, at in self.answered:
            if sent.kind != "event":
                is_stored = sent.is_stored(history.streams[sent.stream], "", at)
                assert is_stored, f"answered and lost: {sent.event} {sent.ids}"
        # A compaction has nothing to be known by but its number.
        compacted = Counter(sent.stream for sent, _ in self.answered if sent.kind == "event")
        rows = rows_of(
            self.home.events,
            "SELECT originator_id, count(*) FROM stored_events WHERE topic = 'session.compacted' GROUP BY 1",
        )
        assert dict(rows) == compacted
        return history


def soak(calls: int, seed: int, folder: Path) -> int:
    """Live until so many calls were answered; return the exit status."""
    began = time.monotonic()
    house = House(Home(folder / "home"), random.Random(seed))  # noqa: S311 - to be repeated, not to be guessed
    house.home.create()
    told = 0
    try:
        while len(house.answered) < calls:
            house.act()
            if len(house.answered) - told >= PROGRESS_EVERY:
                told = len(house.answered)
                print(f"{told} calls in {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201
        history = house.finish()
    finally:
        house.leave()
    faults = ", ".join(f"{number} {name}" for name, number in sorted(house.faults.items()) if name != "none")
    print(  # noqa: T201 - a program of its own
        f"seed {seed}: {len(house.answered)} calls answered, {history.position} events, {faults}: "
        f"nothing lost, nothing twice, {time.monotonic() - began:.0f} s"
    )
    return 0


def main() -> None:
    """Soak a home, and say what was held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    chosen = parser.parse_args()
    # A daemon that waited for the lock of the last one may come up now; it leaves when its home is gone.
    with tempfile.TemporaryDirectory(prefix="te-processes-", ignore_cleanup_errors=True) as folder:
        sys.exit(soak(chosen.calls, chosen.seed, Path(folder)))


if __name__ == "__main__":
    main()
