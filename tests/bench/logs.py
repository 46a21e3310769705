"""
How fast the agents' logs are read: `python tests/bench/logs.py [MEGABYTES]`.

`te ledger scan` beside a native program that sums up the same files, as whole processes by turns: without
a cache, with nothing changed, and after one file grew. Both have to come to the same tokens. The best run of
each counts. Then, in one process each, reading alone, and `te import`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import reference_program
from log_corpus import write_corpus

from tokeneconomizer.hosts.log_format import AgentHomes, Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler.home import HOME_VARIABLE, Home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokeneconomizer.hosts.log_format import LogFile

MEGABYTES = 1_000
ROUNDS = 5
IMPORTED_MEGABYTES = 40
"""The import is by far the slowest, and its rate does not depend on how much there is."""

TE = [sys.executable, "-I", "-m", "tokeneconomizer.console.main"]
SCAN = ["ledger", "scan", "--timezone", "UTC", "--json"]
IMPORT = [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.import_logs"]
BARE = [sys.executable, "-I", "-c", "pass"]
REFERENCE = ["session", "--json", "--offline", "--timezone", "UTC"]

WARM_TIMES_FASTER = 10
"""Where nothing changed, than the reference program, which keeps nothing."""

FIGURES = ("input", "output", "cache_read", "cache_write")
GROWN_LINES = 20

Tokens = dict[str, int]


@dataclass
class Times:
    """Seconds of each kind of run."""

    runs: dict[str, list[float]] = field(default_factory=dict)

    def run(self, kind: str, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
        """Time one process, and return what it printed."""
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        self.runs.setdefault(kind, []).append(time.perf_counter() - start)
        return done.stdout

    def best_ms(self, kind: str) -> float | None:
        """Return the best run; None where there was none."""
        return round(min(self.runs[kind]) * 1000, 1) if kind in self.runs else None


def our_tokens(printed: bytes) -> Tokens:
    """Return all tokens that our ledger tells."""
    found: Counter[str] = Counter()
    for session in json.loads(printed)["sessions"]:
        for sums in session["models"].values():
            found.update({name: sums[name] or 0 for name in FIGURES[:3]})
            found["cache_write"] += (sums["cache_write_5m"] or 0) + (sums["cache_write_1h"] or 0)
    return dict(found)


def their_tokens(printed: bytes) -> Tokens:
    """Return all tokens that the reference program tells."""
    totals = json.loads(printed)["totals"]
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    return {ours: totals[theirs] for ours, theirs in zip(FIGURES, names, strict=True)}


def grow(file: Path) -> None:
    """Add to a log of Claude Code's some replies of its own, as new ones."""
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    replies = [line for line in lines if line["type"] == "assistant"][-GROWN_LINES:]
    moment = time.time_ns()
    with file.open("a", encoding="utf-8") as log:
        for reply in replies:
            reply["message"]["id"] += f"-{moment}"
            reply["requestId"] += f"-{moment}"
            log.write(json.dumps(reply, separators=(",", ":"), ensure_ascii=False) + "\n")


def compare(root: Path, user_home: Path, rounds: int) -> dict[str, object]:
    """Measure whole scans by turns with the reference program."""
    home = Home(root / "home")
    environment = {"PATH": os.defpath, "HOME": str(user_home), HOME_VARIABLE: str(home.root)}
    scan = [*TE, *SCAN, "--agents-home", str(user_home)]
    grows = next((user_home / ".claude").rglob("*.jsonl"))
    reference, why_not = _reference()
    times = Times()
    for _ in range(rounds):
        times.run("bare", BARE, environment)
        theirs = times.run("reference", [str(reference), *REFERENCE], environment) if reference else None
        shutil.rmtree(home.root, ignore_errors=True)
        cold = times.run("cold", scan, environment)
        warm = times.run("warm", scan, environment)
        if warm != cold or (theirs is not None and their_tokens(theirs) != our_tokens(cold)):
            message = f"{user_home} comes to different tokens: mend that first"
            raise SystemExit(message)
        grow(grows)
        times.run("grown", scan, environment)
    return {f"{kind}_ms": times.best_ms(kind) for kind in ("bare", "reference", "cold", "warm", "grown")} | {
        "without_reference": why_not
    }


def _reference() -> tuple[Path | None, str]:
    try:
        return reference_program.install(), ""
    except reference_program.UnavailableError as error:
        return None, str(error)


def read_mb_per_s(files: list[LogFile], wanted: Wanted) -> float:
    """Read files in this process, and count bytes."""
    size = sum(Path(file.path).stat().st_size for file in files)
    start = time.perf_counter()
    for file in files:
        for _ in LOGS[file.host].read(file, None, wanted):
            pass
    return round(size / 1_000_000 / (time.perf_counter() - start), 1)


def best(rate: Callable[[], float], rounds: int) -> float:
    """Return the best of some runs."""
    return max(rate() for _ in range(rounds))


def import_rates(root: Path, megabytes: int) -> dict[str, float]:
    """Import sessions into an empty store."""
    user_home, home = root / "import-user", Home(root / "import-home")
    write_corpus(user_home, megabytes)
    environment = {"PATH": os.defpath, "HOME": str(user_home), HOME_VARIABLE: str(home.root)}
    times = Times()
    printed = times.run("import", [*IMPORT, "--agents-home", str(user_home)], environment)
    seconds = times.runs["import"][0]
    events = json.loads(printed.splitlines()[-1])["summary"]["events"]
    return {"import_events_per_s": round(events / seconds), "import_mb_per_s": round(megabytes / seconds, 1)}


def measure(root: Path, *, megabytes: int = MEGABYTES, rounds: int = ROUNDS) -> dict[str, object]:
    """Measure all of it on one corpus."""
    user_home = root / "user"
    write_corpus(user_home, megabytes)
    files = find(AgentHomes(user_home), LOGS)
    return {
        "megabytes": megabytes,
        "files": len(files),
        **compare(root, user_home, rounds),
        "tokens_mb_per_s": best(lambda: read_mb_per_s(files, Wanted.USAGE), rounds),
        "all_mb_per_s": read_mb_per_s(files, Wanted.ALL),
        **import_rates(root, min(megabytes, IMPORTED_MEGABYTES)),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        given = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
        print(json.dumps(measure(Path(folder), megabytes=given), indent=2))  # noqa: T201 - its output
