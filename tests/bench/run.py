"""
The bench suite: `make bench`, or `python tests/bench/run.py --full` for the sizes that are promised.

Every figure is set beside another one of the same run, since absolute times tell about the machine. With
`--strict` a ratio that misses its bound by more than the slack makes it fail; tests never ask for a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import agents
import append
import bridge_time
import guard_time
import hook_start
import load
import logs
import memory
import rebuild
from filled_home import fill

from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
# A shared machine moves a ratio by so much from run to run.
SLACK = 0.15

Figures = dict[str, object]


@dataclass(frozen=True, slots=True)
class Row:
    """
    One line of the table.

    Attributes:
        what: is measured.
        figure: with its unit.
        ratio: to what stands beside it; None for a time that depends on the machine alone.
        bound: of the ratio, or of the figure where there is none, in words.
        limit: of the ratio, as a number.
        at_least: whether the ratio has to be above the limit.

    """

    what: str
    figure: str
    ratio: float | None
    bound: str
    limit: float | None = None
    at_least: bool = False

    @property
    def is_missed(self) -> bool:
        """Whether the ratio is beyond its limit by more than the slack."""
        if self.ratio is None or self.limit is None:
            return False
        if self.at_least:
            return self.ratio < self.limit * (1 - SLACK)
        return self.ratio > self.limit * (1 + SLACK)


@dataclass(frozen=True, slots=True)
class Bench:
    """A part of the suite: how it is measured in full and in short, and what its figures say."""

    full: Callable[[Path], Figures]
    short: Callable[[Path], Figures]
    rows: Callable[[Figures], list[Row]]


def number(figures: Figures, *names: str) -> float:
    """Return one figure of nested ones."""
    found: object = figures
    for name in names:
        assert isinstance(found, dict)
        found = found[name]
    return float(str(found))


def at_least(what: str, figure: str, ratio: float, limit: float) -> Row:
    """Return a line whose ratio has to reach a limit."""
    return Row(what, figure, ratio, f"at least {limit}", limit, at_least=True)


def at_most(what: str, figure: str, ratio: float, limit: float) -> Row:
    """Return a line whose ratio may not exceed a limit."""
    return Row(what, figure, ratio, f"at most {limit}", limit)


def rows_of_append(figures: Figures) -> list[Row]:
    """Tell appends beside plain SQLite."""
    lines = []
    for name, what in (("two_events", "both events of a hook call"), ("one_event", "one event")):
        rate, plain = (number(figures, name, key) for key in ("ours_events_per_s", "plain_events_per_s"))
        figure = f"{rate:,.0f} events/s (plain SQLite: {plain:,.0f})"
        lines.append(at_least(f"a save of {what}", figure, number(figures, name, "ratio"), 0.5))
    return lines


def rows_of_hook_start(figures: Figures) -> list[Row]:
    """Tell the hook client beside the bare interpreter."""
    bare, hook, cold = (number(figures, f"{name}_ms", "median") for name in ("baseline", "hook", "cold"))
    return [
        at_most(
            "te-hook with a running daemon",
            f"{hook} ms (`python -I -S -c pass`: {bare} ms)",
            number(figures, "ratio_median"),
            1.15,
        ),
        Row("te-hook without a daemon", f"{cold} ms", None, "at most 100 ms"),
    ]


def rows_of_bridge(figures: Figures) -> list[Row]:
    """Tell what a step waits for a bridge."""
    what, bound = "what a step waits for its bridge, inside Node", "1 ms, 5 ms"
    if "without_node" in figures:
        return [Row(what, f"not measured: {figures['without_node']}", None, bound)]
    series = (
        ("paced", "with pauses", bound),
        ("back_to_back", "one after the other", bound),
        ("paced_waiting", "with pauses, every step waited for", ""),
        ("back_to_back_waiting", "one after the other, every step waited for", ""),
    )
    return [
        Row(
            f"{what}, {words}",
            "median {} ms, 99th percentile {} ms".format(
                *(number(figures, name, cut) for cut in ("p50_ms", "p99_ms"))
            ),
            None,
            limit,
        )
        for name, words, limit in series
    ]


def rows_of_agents(figures: Figures) -> list[Row]:
    """Tell what the hooks of further agents add to a tool call, beside the bare interpreter."""
    bare = number(figures, "baseline_ms", "median")
    names = (
        ("codex", "Codex's hook after a call, with its rollout read"),
        ("codex_before", "Codex's hook before a call, with nothing to store"),
        ("copilot", "Copilot's hook after a call"),
    )
    return [
        at_most(
            what,
            f"{number(figures, f'{name}_ms', 'median')} ms (`python -I -S -c pass`: {bare} ms)",
            number(figures, f"{name}_ratio"),
            1.3,
        )
        for name, what in names
    ]


def rows_of_load(figures: Figures) -> list[Row]:
    """Tell a hook call's round trip under load."""
    many, few = number(figures, "events_many"), number(figures, "events_few")

    def times(name: str) -> str:
        middle, high = number(figures, name, "p50_ms"), number(figures, name, "p99_ms")
        return f"median {middle} ms, 99th percentile {high} ms"

    return [
        Row(f"a hook call's round trip, {few:,.0f} events stored", times("few"), None, "1 ms, 5 ms"),
        Row(f"the same, {many:,.0f} events stored", times("many"), None, "1 ms, 5 ms"),
        at_most("its median beside that with few events", "", number(figures, "ratio_many_p50"), 1.5),
        at_most("its 99th percentile beside that", "", number(figures, "ratio_many_p99"), 1.5),
        at_most(
            "the same while all views are rebuilt: its 99th percentile",
            times("rebuild"),
            number(figures, "ratio_rebuild_p99"),
            2.0,
        ),
    ]


def rows_of_memory(figures: Figures) -> list[Row]:
    """Tell the daemon's memory."""
    sessions, first = number(figures, "sessions"), number(figures, "sessions_first")
    after_first, after_all = number(figures, "after_first_mb"), number(figures, "after_all_mb")
    bound = number(figures, "resident_mb_max")
    return [
        Row(f"the daemon's memory after {sessions:,.0f} sessions", f"{after_all} MB", None, f"{bound} MB"),
        at_most(
            f"the same beside its memory after {first:,.0f}",
            f"{after_first} MB",
            round(after_all / after_first, 3),
            1.2,
        ),
    ]


def measure_rebuild(root: Path, events: int = rebuild.EVENTS, rounds: int = rebuild.ROUNDS) -> Figures:
    """Fill a home and measure the rebuild of its views."""
    home = Home(root / "home")
    fill(home, events)
    return rebuild.measure(home, events, rounds)


def rows_of_rebuild(figures: Figures) -> list[Row]:
    """Tell rebuilds beside a direct select with the same decoder."""
    events, megabytes = number(figures, "events"), number(figures, "memory_bound_bytes") / 1_000_000
    lines = []
    for name, found in figures.items():
        if name == rebuild.DIRECT or not isinstance(found, dict):
            continue
        rate, peak = number(figures, name, "events_per_s"), number(figures, name, "peak_bytes") / 1_000_000
        direct = number(figures, rebuild.DIRECT, "events_per_s")
        figure = f"{rate:,.0f} events/s (direct select: {direct:,.0f}), {peak:.0f} MB"
        what = f"a rebuild of the view `{name}` from {events:,.0f} events"
        ratio = number(figures, name, "ratio")
        lines.append(Row(what, figure, ratio, f"at least 0.5, {megabytes:.0f} MB", 0.5, at_least=True))
    return lines


def rows_of_guard(figures: Figures) -> list[Row]:
    """Tell what the guard costs a call, decoding and verdict apart."""
    lines = []
    for work, what in (("mixed", "mixed work"), ("circling", "a turn in circles")):
        for part, words in (("decode", "decoding"), ("digest", "digest and ruling"), ("verdict", "verdict")):
            middle, high = (number(figures, work, part, name) for name in ("p50", "p99"))
            figure = f"median {middle} µs, 99th percentile {high} µs"
            lines.append(Row(f"the guard's {words} of a call, {what}", figure, None, "1 ms"))
    return lines


def rows_of_logs(figures: Figures) -> list[Row]:
    """Tell scans of the agents' logs beside the reference program, and reading and importing alone."""
    rates = [
        ("logs read for their tokens", "tokens_mb_per_s"),
        ("logs read for all records", "all_mb_per_s"),
        ("`te import`", "import_mb_per_s"),
    ]
    lines = [Row(what, f"{number(figures, name):,.1f} MB/s", None, "") for what, name in rates]
    events = Row("the same in events", f"{number(figures, 'import_events_per_s'):,.0f} events/s", None, "")
    return [*_rows_of_scans(figures), *lines, events]


def _rows_of_scans(figures: Figures) -> list[Row]:
    megabytes, files = number(figures, "megabytes"), number(figures, "files")
    cold, warm, grown = (f"{figures[f'{name}_ms']} ms" for name in ("cold", "warm", "grown"))
    names = (
        f"`te ledger scan` of {megabytes:,.0f} MB in {files:,.0f} logs",
        "the same again, nothing changed: how many times faster than the reference program",
        "the same after one log grew",
    )
    if figures["reference_ms"] is None:
        why_not = f"not compared: {figures['without_reference']}"
        times = (f"{cold} ({why_not})", f"{warm} ({why_not})", grown)
        return [Row(what, figure, None, "") for what, figure in zip(names, times, strict=True)]
    reference, warm_ms = number(figures, "reference_ms"), number(figures, "warm_ms")
    # The reference program takes as much longer as there is more to read; we do not.
    enough = logs.WARM_TIMES_FASTER * warm_ms / reference * megabytes
    beside = f"(reference program: {reference} ms)"
    faster = round(reference / warm_ms, 2)
    bound = f"at least {logs.WARM_TIMES_FASTER}, from some {enough:,.0f} MB on"
    limit = logs.WARM_TIMES_FASTER if enough <= megabytes or megabytes >= logs.MEGABYTES else None
    return [
        at_most(names[0], f"{cold} {beside}", round(number(figures, "cold_ms") / reference, 3), 2.0),
        Row(names[1], f"{warm} {beside}", faster, bound, limit, at_least=True),
        Row(names[2], grown, None, ""),
    ]


BENCHES: dict[str, Bench] = {
    "append": Bench(append.measure, lambda root: append.measure(root, blocks=10, repeats=2), rows_of_append),
    "hook_start": Bench(
        hook_start.measure, lambda root: hook_start.measure(root, runs=25), rows_of_hook_start
    ),
    "bridge": Bench(bridge_time.measure, lambda root: bridge_time.measure(root, calls=240), rows_of_bridge),
    "agents": Bench(agents.measure, lambda root: agents.measure(root, runs=25), rows_of_agents),
    "load": Bench(
        load.measure, lambda root: load.measure(root, many=20_000, seconds=10, repeats=1), rows_of_load
    ),
    "rebuild": Bench(
        measure_rebuild, lambda root: measure_rebuild(root, events=50_000, rounds=2), rows_of_rebuild
    ),
    "guard": Bench(guard_time.measure, lambda root: guard_time.measure(root, calls=500), rows_of_guard),
    "logs": Bench(logs.measure, lambda root: logs.measure(root, megabytes=40, rounds=3), rows_of_logs),
    "memory": Bench(memory.measure, lambda root: memory.measure(root, sessions=1_000), rows_of_memory),
}


def machine() -> str:
    """Tell what the figures were taken on."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} on {platform.machine()}, "
        f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"load before the run {os.getloadavg()[0]:.1f}"
        + (", daemon and load generator before all other work" if load.GOES_FIRST else "")
    )


def table(rows: list[Row], about: str) -> str:
    """Write the lines as Markdown."""
    lines = ["| what | figure | ratio | bound |", "|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"| {row.what} | {row.figure} | {ratio} | {row.bound} |")
    return "\n".join([*lines, "", f"Measured on: {about}.", ""])


def write_into_document(text: str) -> None:
    """Put the table in the place of the last one."""
    before, begin, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        message = (
            f"{DOCUMENT} has no lines {BEGIN.strip()} and {END.strip()}: put them where the table belongs"
        )
        raise SystemExit(message)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure, as ratios within one run.")
    parser.add_argument(
        "benches", nargs="*", metavar="BENCH", help=f"of {', '.join(BENCHES)}; all by default"
    )
    parser.add_argument("--full", action="store_true", help="the promised sizes: some twenty minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--strict", action="store_true", help="fail when a ratio misses its bound")
    given = parser.parse_args()
    unknown = [name for name in given.benches if name not in BENCHES]
    if unknown:
        parser.error(f"no such bench: {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    return given


def main() -> None:
    """Run the suite."""
    given, about = arguments(), machine()
    figures: dict[str, Figures] = {}
    rows: list[Row] = []
    for name in given.benches or BENCHES:
        bench = BENCHES[name]
        print(f"{name} ...", file=sys.stderr, flush=True)  # noqa: T201 - its progress
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = (bench.full if given.full else bench.short)(Path(folder))
        rows += bench.rows(figures[name])
    if given.json:
        document = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": about,
            "full": given.full,
            "figures": figures,
            "rows": [asdict(row) for row in rows],
        }
        given.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    text = table(rows, about)
    if given.write_docs:
        write_into_document(text)
    print(text)  # noqa: T201 - its output
    missed = [row.what for row in rows if row.is_missed]
    if given.strict and missed:
        message = f"missed by more than {SLACK:.0%}: {'; '.join(missed)}"
        raise SystemExit(message)


if __name__ == "__main__":
    main()
