"""
What a step of an agent waits for its bridge: `python tests/bench/bridge_time.py`.

The bridge itself, under Node, with a real daemon: from the call until the agent goes on. The turns are those
of `bridge_calls.ts`; most of their steps need no answer and are not waited for, so that the same is measured
once more with every step waited for.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from load import daemon

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.home import Home

CALLS = 1_200
# The first ones connect, and wait for code that is compiled at its first use.
WARM_UP_CALLS = 24
# As an agent's steps come, and one after the other: the difference is what cold caches cost.
PACED_MS, AT_ONCE_MS = 40, 0
SERIES = {
    "paced": (PACED_MS, "as told"),
    "back_to_back": (AT_ONCE_MS, "as told"),
    "paced_waiting": (PACED_MS, "always"),
    "back_to_back_waiting": (AT_ONCE_MS, "always"),
}
SCRIPT = Path(__file__).with_name("bridge_calls.ts")
PERCENT = 100
# Twenty times what they take on a busy machine.
SECONDS_MAX = 600

sys.path.append(str(Path(__file__).resolve().parents[1] / "agents"))


def measure(root: Path, *, calls: int = CALLS) -> dict[str, object]:
    """Measure the calls, or tell why they cannot be made."""
    from npm_agent import AgentUnavailableError, install_node  # noqa: PLC0415 - needs the path above

    try:
        node = install_node()
    except AgentUnavailableError as error:
        return {"without_node": str(error)}
    home = Home(root / "home")
    home.create()
    times: dict[str, list[float]] = {}
    with daemon(home):
        for name, (pause_ms, waiting) in SERIES.items():
            done = subprocess.run(
                [node, SCRIPT, str(home.root), str(WARM_UP_CALLS + calls), str(pause_ms), waiting],
                env={"PATH": os.defpath},
                capture_output=True,
                check=True,
                timeout=SECONDS_MAX,
            )
            times[name] = json.loads(done.stdout)[WARM_UP_CALLS:]
    with EventLog(home.events) as log:
        stored = sum(1 for event in log.entries(0) if getattr(event, "topic", "") == "session.tool_called")
    expected = len(SERIES) * (WARM_UP_CALLS + calls)
    if stored < expected:
        message = f"{stored} of {expected} calls were stored: mend that first"
        raise SystemExit(message)
    return {"calls": calls, **{name: summary(values) for name, values in times.items()}}


def summary(times: list[float]) -> dict[str, float]:
    """Give the figures of a series."""
    cuts = statistics.quantiles(times, n=PERCENT)
    return {"p50_ms": round(cuts[49], 3), "p99_ms": round(cuts[98], 3)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder))))  # noqa: T201 - its output
