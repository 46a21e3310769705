"""
How much memory the daemon holds after many sessions: `python tests/bench/memory.py`.

Each session starts, is given a prompt, takes three steps and ends. What the daemon remembers of sessions is
bounded, so that its memory must stay where it is once the first thousand filled it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
from itertools import islice
from pathlib import Path

from agent_work import AgentWork
from load import daemon, request_of, round_trip

from tokeneconomizer.scheduler.home import Home

SESSIONS = 10_000
SESSIONS_FIRST_SHARE = 0.1
STEPS = 3
# The cache of sessions, SQLite's caches, and what an allocator keeps in between.
GROWTH_MB_MAX = 8.0
RESIDENT_MB_MAX = 96.0
KB_PER_MB = 1_024


def resident_mb(process_id: int) -> float:
    """Return the resident memory of a process, as the system tells it."""
    told = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process_id)],  # noqa: S607 - found on the path on every system
        capture_output=True,
        text=True,
        check=True,
    )
    return round(int(told.stdout) / KB_PER_MB, 1)


def live(home: Home, folder: Path, number: int) -> None:
    """Let one session happen."""
    chance = random.Random(number)  # noqa: S311 - work drawn by chance, no secret
    work = AgentWork(chance, f"memory-{number:06}", folder / "log.jsonl")
    for moment in [*work.begin(), *islice(work.turns(), STEPS), work.end()]:
        round_trip(home, request_of(moment))


def measure(root: Path, *, sessions: int = SESSIONS) -> dict[str, object]:
    """Measure at the start, after the first tenth of the sessions, and after all of them."""
    home = Home(root / "home")
    home.create()
    before = Path.cwd()
    with daemon(home) as process_id:
        # The socket is reached by its bare name, as a path to it may be too long.
        os.chdir(home.root)
        try:
            at_start = resident_mb(process_id)
            first = round(sessions * SESSIONS_FIRST_SHARE)
            for number in range(first):
                live(home, root, number)
            after_first = resident_mb(process_id)
            for number in range(first, sessions):
                live(home, root, number)
            after_all = resident_mb(process_id)
        finally:
            os.chdir(before)
    return {
        "sessions": sessions,
        "sessions_first": first,
        "at_start_mb": at_start,
        "after_first_mb": after_first,
        "after_all_mb": after_all,
        "growth_mb": round(after_all - after_first, 1),
        "growth_mb_max": GROWTH_MB_MAX,
        "resident_mb_max": RESIDENT_MB_MAX,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(measure(Path(temporary))))  # noqa: T201 - its output
