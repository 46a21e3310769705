"""
What one hook call costs over the bare interpreter: `python tests/bench/hook_start.py`.

Runs `python -I -S -c pass`, the real client with the real daemon, and the client without any daemon by turns,
so that a busy machine slows all three.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from load import daemon

from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home

LAUNCHER = Path(__file__).resolve().parents[2] / "hosts" / "hook" / "launcher.py"
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
HOOK = [
    *(sys.executable, "-I", "-S", str(LAUNCHER)),
    *("--host", "claude_code", "--event", "PostToolBatch", "--via", "plugin"),
]
REPLY = b"{}"
# A turn's usual length: without any turn, and past the guard's gate, calls are not what they usually are.
STEPS_PER_TURN = 12
# The size of a usual tool result.
OUTPUT_CHARACTERS = 4_000
# Enough for a median that holds to a few percent on a shared machine.
RUNS = 60
# Of the first runs some still read from the disk.
WARM_UP_RUNS = 5


def payload(number: int) -> bytes:
    """Return the payload of a step with one call."""
    call = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"/home/dev/project/module_{number}.py"},
        "tool_response": f"{number}: {'x' * OUTPUT_CHARACTERS}",
        "tool_use_id": f"toolu_{number}",
    }
    return _told("PostToolBatch", tool_calls=[call])


def prompt(number: int) -> bytes:
    """Return the payload of a prompt."""
    return _told("UserPromptSubmit", prompt=f"Go on with {number}.", prompt_id=f"prompt-{number}")


def _told(event: str, **fields: object) -> bytes:
    common = {"session_id": "bench", "cwd": "/home/dev/project", "hook_event_name": event}
    return json.dumps({**common, **fields}).encode()


def elapsed_ms(command: list[str], home: Home, given: bytes, expected: bytes) -> float:
    """Run one process as an agent does: with pipes, until its output ends."""
    environment = {"PATH": os.defpath, HOME_VARIABLE: str(home.root)}
    start = time.perf_counter()
    result = subprocess.run(command, input=given, env=environment, capture_output=True, check=True)
    elapsed = (time.perf_counter() - start) * 1000
    if result.stdout != expected or result.stderr:
        message = (
            f"{command[-1]} answered {result.stdout!r} {result.stderr!r}, not {expected!r}: mend that first"
        )
        raise SystemExit(message)
    return elapsed


def summary(values: list[float]) -> dict[str, float]:
    """Give the figures of a series."""
    return {
        "min": round(min(values), 2),
        "median": round(statistics.median(values), 2),
        "max": round(max(values), 2),
    }


def measure(root: Path, *, runs: int = RUNS) -> dict[str, object]:
    """Measure the three kinds of run by turns."""
    home, cold_home = Home(root / "home"), Home(root / "cold")
    for each in (home, cold_home):
        each.create()
    times: dict[str, list[float]] = {"baseline": [], "hook": [], "cold": []}
    # While we hold its lock no hook starts a daemon.
    with daemon(home), (cold_home.root / "daemon.starting").open("wb") as stamp:
        os.lockf(stamp.fileno(), os.F_LOCK, 1)
        for number in range(WARM_UP_RUNS + runs):
            if number % STEPS_PER_TURN == 0:
                elapsed_ms(HOOK, home, prompt(number), REPLY)
            given = payload(number)
            times["baseline"].append(elapsed_ms(BARE, home, b"", b""))
            times["hook"].append(elapsed_ms(HOOK, home, given, REPLY))
            times["cold"].append(elapsed_ms(HOOK, cold_home, given, REPLY))
    counted = {name: values[WARM_UP_RUNS:] for name, values in times.items()}
    baseline, hook_times = counted["baseline"], counted["hook"]
    return {
        **{f"{name}_ms": summary(values) for name, values in counted.items()},
        "ratio_median": round(statistics.median(hook_times) / statistics.median(baseline), 3),
        # With no core to spare the median counts the wait for the daemon's turn; the fastest runs do not.
        "ratio_min": round(min(hook_times) / min(baseline), 3),
        "runs": runs,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder))))  # noqa: T201 - its output
