"""
What a step of an agent waits for its bridge: `python tests/bench/bridge_time.py`.

The bridge itself, under Node, with a real daemon: from the call until it is over, one call a step.
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

CALLS = 2_000
# The first ones connect, and wait for code that is compiled at its first use.
WARM_UP_CALLS = 20
# As an agent's steps come, and one after the other: the difference is what cold caches cost.
PAUSES_MS = {"paced": 10, "back_to_back": 0}
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
        for name, pause_ms in PAUSES_MS.items():
            done = subprocess.run(
                [node, SCRIPT, str(home.root), str(WARM_UP_CALLS + calls), str(pause_ms)],
                env={"PATH": os.defpath},
                capture_output=True,
                check=True,
                timeout=SECONDS_MAX,
            )
            times[name] = json.loads(done.stdout)[WARM_UP_CALLS:]
    with EventLog(home.events) as log:
        stored = sum(1 for event in log.entries(0) if getattr(event, "topic", "") == "session.tool_called")
    expected = len(PAUSES_MS) * (WARM_UP_CALLS + calls)
    if stored != expected:
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
