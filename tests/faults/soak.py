"""
A long run of the simulator, driven by a seed: `python tests/faults/soak.py --faults 100000 [--seed N]`.

It stops at the first thing that does not hold, and prints the actions of that home. Each home lives for
some hundred actions, so that a failure is short enough to read and to repeat.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]

from simulated_actions import Action, random_action  # noqa: E402 - found on the path above
from simulated_faults import Counts  # noqa: E402
from simulator import MEMORY_FOLDER, Simulation  # noqa: E402

ACTIONS_PER_HOME = 300
PROGRESS_EVERY_S = 30


def live(seed: str, folder: Path, trace: list[Action]) -> Counts:
    """One home from its first daemon to its last check."""
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    with Simulation(folder) as simulation:
        for _ in range(ACTIONS_PER_HOME):
            action = random_action(chance)
            trace.append(action)
            action.perform(simulation)
        simulation.finish()
        return simulation.counts


def soak(faults: int, seed: int, folder: str | None) -> int:
    """Live home after home; return the exit status."""
    began = told = time.monotonic()
    total = Counts()
    homes = 0
    print(f"seed {seed}", flush=True)  # noqa: T201 - a program of its own
    while total.faults < faults:
        trace: list[Action] = []
        home_seed = f"{seed}-{homes}"
        try:
            with tempfile.TemporaryDirectory(prefix="te-soak-", dir=folder) as name:
                total.add(live(home_seed, Path(name), trace))
        except Exception:  # noqa: BLE001 - whatever it is, the actions that led there are told
            print("\n".join(map(str, trace)))  # noqa: T201
            traceback.print_exc(file=sys.stdout)
            print(f"broken in home {homes} of seed {seed}, at action {len(trace)}")  # noqa: T201
            return 1
        homes += 1
        if time.monotonic() - told > PROGRESS_EVERY_S:
            told = time.monotonic()
            print(f"{total} in {told - began:.0f} s", flush=True)  # noqa: T201
    seconds = time.monotonic() - began
    print(f"all held: {total}, {homes} homes, {seconds:.0f} s, {total.faults / seconds:.0f} faults/s")  # noqa: T201
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the simulator for long.")
    parser.add_argument("--faults", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--folder", default=MEMORY_FOLDER, help="where the homes lie")
    arguments = parser.parse_args()
    sys.exit(soak(arguments.faults, arguments.seed, arguments.folder))


if __name__ == "__main__":
    main()
