"""cargo test and cargo nextest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    by_counts,
    closings,
    counted_words,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "cargo-test"

_RESULT = re.compile(
    r"^test result: (?P<word>ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; "
    r"(?P<skipped>\d+) ignored; "
    r"\d+ measured; \d+ filtered out"
)
_RUNNING = re.compile(r"^running \d+ tests?$")
_SIGNS = signs(
    NAME,
    ("... FAILED", r"^test .+ \.\.\. FAILED$", Verdict.FAILED, "failed test"),
    ("error: test failed", r"^error: test failed, to rerun pass", Verdict.ERROR, "test binary ended early"),
    ("error: doctest failed", r"^error: doctest failed", Verdict.FAILED, "failed doc test"),
    ("target", r"^error: \d+ targets? failed:", Verdict.FAILED, "failed target"),
    ("error", r"^error(?:\[E\d+\])?: ", Verdict.ERROR, "compile or usage error"),
    ("running ", r"^running [1-9]\d* tests?$", Verdict.UNKNOWN, "start without an end"),
    general=("error",),
)


def _words(program: Program) -> list[str]:
    return [word for word in program.arguments if not word.startswith(("-", "+"))]


def _runs_cargo(program: Program) -> bool:
    return (
        program.tool == "cargo"
        and _words(program)[:1] in (["test"], ["t"], ["careful"], ["tarpaulin"], ["llvm-cov"])
        and "nextest" not in _words(program)
    )


def _lists_cargo(program: Program) -> bool:
    return program.has("--no-run", "--list", "--help", "-h", "--version", "-V")


def summaries(output: Output) -> list[Summary]:
    """Return what cargo test says; the binaries of one output are one summary."""
    found = [*_results(output)]
    if found and found[0].verdict in {Verdict.PASSED, Verdict.NO_TESTS}:
        marks = read_all(output, *_SIGNS)
        # A binary that crashed or was not built has no result line; cargo itself says that it is red.
        red = [mark for mark in marks if mark.verdict in {Verdict.ERROR, Verdict.FAILED}]
        said = [mark for mark in red if "failed test" not in mark.rule] or [
            mark for mark in red if mark.line > found[0].line
        ]
        found = [Summary(m.framework, m.verdict, m.counts, m.line, m.rule) for m in said[:1]] or found
    return found


def _results(output: Output) -> Iterator[Summary]:
    blocks: list[tuple[int, Counts, bool]] = []
    for index, text in output.containing("test result: "):
        match = _RESULT.match(text)
        if match is not None:
            counts = Counts(int(match["passed"]), int(match["failed"]), None, int(match["skipped"]))
            blocks.append((index, counts, match["word"] == "FAILED"))
    if not blocks:
        return
    broken = _ended_early(output)
    if broken is not None and not any(block[2] for block in blocks):
        yield Summary(NAME, Verdict.ERROR, NO_COUNTS, output.number_at(broken), "cargo test: no result line")
        return
    red = next((block for block in blocks if block[2]), None)
    filled = [block for block in blocks if block[1].passed or block[1].failed or block[1].skipped]
    index, counts, _ = red or (filled or blocks)[-1]
    shown = counts if len(filled) <= 1 else NO_COUNTS
    if red is not None:
        verdict = Verdict.FAILED if counts.failed else Verdict.ERROR
    else:
        verdict = Verdict.PASSED if any(block[1].passed for block in blocks) else Verdict.NO_TESTS
    # Empty blocks may be all that a filter left.
    final = red is not None or bool(filled) or len(blocks) > 1
    yield Summary(NAME, verdict, shown, output.number_at(index), "cargo test: result lines", final)


def _ended_early(output: Output) -> int | None:
    """Return where tests began that got no result line before the next ones began."""
    pending = None
    for index, text in output.containing("running ", "test result: "):
        if _RESULT.match(text):
            pending = None
        elif _RUNNING.match(text):
            if pending is not None:
                return pending
            pending = index if text[len("running ")] != "0" else None
    return None


CARGO = Family(
    NAME,
    _runs_cargo,
    summaries,
    reader(*_SIGNS),
    _lists_cargo,
    statuses={101: Verdict.FAILED, 1: Verdict.FAILED},
    scattered=True,
    several=True,
)

_SUMMARY = re.compile(
    r"^\s*Summary \[\s*[\d.]+s\] (?P<done>\d+)(?:/(?P<all>\d+))? tests? run: (?P<words>.*)$"
)
_NEXTEST_NONE = closings(
    "cargo-nextest", ("no tests to run", r"^error: no tests to run", Verdict.NO_TESTS, "no tests to run")
)
_NEXTEST_SIGNS = signs(
    "cargo-nextest",
    ("error: test run failed", r"^error: test run failed", Verdict.FAILED, "run failed"),
    (
        "FAIL [",
        r"^\s+(?:TRY \d+ )?(?:FAIL|SIG[A-Z]+|ABORT|TIMEOUT) \[\s*[\d.]+s\] \(\s*\d",
        Verdict.FAILED,
        "failed test",
    ),
    (
        "error",
        r"^error(?:\[E\d+\])?: (?!no tests to run|test run failed)",
        Verdict.ERROR,
        "compile or usage error",
    ),
    ("Nextest run ID", r"^\s*Nextest run ID ", Verdict.UNKNOWN, "start without an end"),
    general=("error",),
)


def _nextest(output: Output) -> list[Summary]:
    found = []
    for index, text in output.containing("Summary ["):
        match = _SUMMARY.match(text)
        if match is None:
            continue
        numbers = counted_words(re.sub(r" \([^)]*\)", "", match["words"]))
        red = [
            numbers[word]
            for word in ("failed", "timed out", "exec failed", "setup script failed")
            if word in numbers
        ]
        counts = Counts(numbers.get("passed"), sum(red) if red else None, None, numbers.get("skipped"))
        verdict = by_counts(counts)
        if verdict is Verdict.PASSED and match["all"] not in (None, match["done"]):
            verdict = Verdict.ERROR
        found.append(
            Summary("cargo-nextest", verdict, counts, output.number_at(index), "nextest: summary line")
        )
    return [*found, *read_all(output, *_NEXTEST_NONE)]


NEXTEST = Family(
    "cargo-nextest",
    lambda program: (
        program.tool == "cargo-nextest" or (program.tool == "cargo" and "nextest" in _words(program))
    ),
    _nextest,
    reader(*_NEXTEST_SIGNS),
    lambda program: program.has("--help", "-h", "--version", "-V", "--no-run") or "list" in program.arguments
    or "archive" in program.arguments,
    statuses={4: Verdict.NO_TESTS, 100: Verdict.FAILED, 101: Verdict.ERROR, 104: Verdict.ERROR},
)  # fmt: skip

FAMILIES = (CARGO, NEXTEST)
