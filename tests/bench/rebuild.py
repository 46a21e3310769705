"""
What rebuilding each view costs: `python tests/bench/rebuild.py --events 1000000`.

Beside it one direct select of the whole log, each event decoded by the same decoder, and nothing else done.
Each run is a process of its own, both kinds by turns, so that a busy machine slows both. Prints JSON, and
exits with 1 when a rebuild took more memory than it may.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
from filled_home import fill

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import REBUILD_MEMORY_BYTES_MAX, rebuild
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import Home

EVENTS = 1_000_000
ROUNDS = 3
DIRECT = "direct"
SELECT = (
    "SELECT rowid, originator_id, originator_version, topic, state FROM stored_events WHERE rowid > 0 "
    "ORDER BY rowid"
)
STATUS = Path("/proc/self/status")


def read_directly(home: Home) -> None:
    """Select and decode every event."""
    connection = sqlite3.connect(f"{home.events.as_uri()}?mode=ro", uri=True)
    for row in connection.execute(SELECT):
        orjson.loads(row[4])
    connection.close()


def rebuild_view(home: Home, name: str) -> None:
    """Rebuild one view as `te rebuild` and the daemon's child do."""
    (projection,) = [projection for projection in PROJECTIONS if name == projection.NAME]
    with EventLog(home.events) as log:
        rebuild(log, home.views, projection)


def peak_bytes() -> int:
    """Return the most memory that this process held at once."""
    if STATUS.exists():
        # `getrusage` counts the parent's memory as well, from before this program was loaded.
        (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_one(name: str, home: Home) -> None:
    """Do one piece of work, and print what it took."""
    started, cpu_started = time.perf_counter(), time.process_time()
    if name == DIRECT:
        read_directly(home)
    else:
        rebuild_view(home, name)
    figures = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "peak_bytes": peak_bytes(),
    }
    print(json.dumps(figures))  # noqa: T201 - its output


def run_apart(name: str, home: Home) -> dict[str, float]:
    """Do one piece of work in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--home", str(home.root)]
    figures: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return figures


def measure(home: Home, events: int, rounds: int) -> dict[str, object]:
    """Measure all by turns; the best run of each counts."""
    names = [DIRECT, *(projection.NAME for projection in PROJECTIONS)]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            runs[name].append(run_apart(name, home))
    best = {
        name: {kind: min(run[kind] for run in found) for kind in ("seconds", "cpu_seconds")}
        for name, found in runs.items()
    }
    figures: dict[str, object] = {"events": events, "memory_bound_bytes": REBUILD_MEMORY_BYTES_MAX}
    for name, found in best.items():
        figures[name] = {
            "events_per_s": round(events / found["seconds"]),
            "ratio": round(best[DIRECT]["seconds"] / found["seconds"], 3),
            "cpu_ratio": round(best[DIRECT]["cpu_seconds"] / found["cpu_seconds"], 3),
            "ratios": [
                round(direct["seconds"] / run["seconds"], 3)
                for direct, run in zip(runs[DIRECT], runs[name], strict=True)
            ],
            "peak_bytes": round(max(run["peak_bytes"] for run in runs[name])),
        }
    figures["memory_is_held"] = all(
        run["peak_bytes"] <= REBUILD_MEMORY_BYTES_MAX for found in runs.values() for run in found
    )
    return figures


def main() -> None:
    """Measure, or do the one piece of work that a measuring process asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        run_one(arguments.one, Home(arguments.home))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        fill(home, arguments.events)
        figures = measure(home, arguments.events, arguments.rounds)
    print(json.dumps(figures))  # noqa: T201 - its output
    sys.exit(0 if figures["memory_is_held"] else 1)


if __name__ == "__main__":
    main()
