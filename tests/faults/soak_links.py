"""Swap files and folders for links while we write: `python tests/faults/soak_links.py [--swaps N]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from link_swaps import run

SWAPS = 10_000


def main() -> None:
    """Swap, and say what was held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--swaps", type=int, default=SWAPS)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="te-links-") as folder:
        run(Path(folder), chosen.swaps, chosen.seed)
    took = time.monotonic() - began
    print(f"seed {chosen.seed}: {chosen.swaps} swaps, nothing written outside, {took:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
