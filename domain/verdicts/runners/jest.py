"""jest and vitest, which print test files and tests apart: a file that failed to load has no failed test."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    Family,
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

_JEST_PROGRAMS = frozenset({"jest", "react-scripts", "craco", "jest-cli", "tsdx", "vue-cli-service"})
_VITEST_PROGRAMS = frozenset({"vitest"})
_JEST_LISTING = ("--version", "--help", "-h", "--listTests", "--showConfig", "--init", "--clearCache")
_VITEST_LISTING = ("--version", "-v", "--help", "-h", "--clearCache")

REPORT_CHARACTERS = 4 * 1024 * 1024
"""A JSON report is parsed whole; output beyond the reading limit never gets here."""

BLOCK_LINES = 6
"""The lines of one summary stand together: files, tests, errors, snapshots."""

_JEST = re.compile(r"^(?P<name>Test Suites|Tests):\s+(?P<words>\d.* total)$")
_VITEST = re.compile(
    r"^\s*(?P<name>Test Files|Tests|Errors|Type Errors)\s+(?P<words>\d+ [a-z].*|no tests|no errors)$"
)

_GATE = closings(
    "jest",
    (
        "Jest: ",
        r"^Jest: (?:.*coverage threshold for .* not met|Coverage for .* does not meet)",
        Verdict.FAILED,
        "coverage gate",
    ),
    ("No tests found", r"^No tests found, exiting with code", Verdict.NO_TESTS, "no tests found"),
)
_JEST_SIGNS = signs(
    "jest",
    ("FAIL ", r"^\s*FAIL .*\.[cm]?[jt]sx?\b", Verdict.FAILED, "failed test file"),
    ("● ", r"^\s*● Test suite failed to run", Verdict.ERROR, "test file not loaded"),
    ("Validation Error", r"^\s*● .*Validation Error", Verdict.ERROR, "bad configuration"),
    ("Unrecognized CLI", r"^\s*● Unrecognized CLI", Verdict.ERROR, "usage"),
    ("process.exit called", r"^\s*●\s+process\.exit called with", Verdict.ERROR, "ended early"),
    ("Validation Error", r"^\s*.*Multiple configurations found", Verdict.ERROR, "bad configuration"),
)
_VITEST_CLOSINGS = closings(
    "vitest",
    ("does not meet", r"^ERROR: Coverage for .* does not meet", Verdict.FAILED, "coverage gate"),
    (
        "No test files found",
        r"No test files found, exiting with code",
        Verdict.NO_TESTS,
        "no test files found",
    ),
)
_VITEST_SIGNS = signs(
    "vitest",
    ("Failed Tests ", r"^⎯+ ?Failed Tests \d+ ?⎯+", Verdict.FAILED, "section of failed tests"),
    ("FAIL ", r"^\s*FAIL .* > ", Verdict.FAILED, "failed test"),
    ("failed)", r"^\s*\u276f .*\(\d+ tests?.*\| \d+ failed\)?", Verdict.FAILED, "failed test file"),
    ("× ", r"^\s*× .+", Verdict.FAILED, "failed test"),
    ("Failed Suites ", r"^⎯+ ?Failed Suites \d+ ?⎯+", Verdict.ERROR, "test file not loaded"),
    ("Unhandled ", r"^⎯+ ?Unhandled (?:Errors?|Rejection) ?⎯+", Verdict.ERROR, "unhandled error"),
    ("Startup Error", r"^⎯+ ?Startup Error ?⎯+", Verdict.ERROR, "did not start"),
    ("RUN ", r"^\s*(?:RUN|DEV)\s+v\d", Verdict.UNKNOWN, "start without an end"),
    general=("× ",),
)


@dataclass(slots=True)
class _Block:
    first: int
    last: int
    files: dict[str, int] | None = None
    tests: dict[str, int] | None = None
    errors: int | None = None


def _summary(framework: str, output: Output, block: _Block) -> Summary:
    tests = block.tests or {}
    files = block.files or {}
    skipped = tests.get("skipped")
    counts = Counts(tests.get("passed"), tests.get("failed"), block.errors or None, skipped)
    line = output.number_at(block.last)
    if tests.get("failed"):
        verdict = Verdict.FAILED
    elif files.get("failed"):
        # Without a Tests line it is not known whether a test failed or the file.
        verdict = Verdict.ERROR if block.tests is not None else Verdict.FAILED
    elif block.errors:
        verdict = Verdict.ERROR
    elif block.tests is not None:
        green = tests.get("passed", 0) + tests.get("expected fail", 0)
        verdict = Verdict.PASSED if green else Verdict.NO_TESTS
    else:
        verdict = Verdict.PASSED if files.get("passed") else Verdict.NO_TESTS
    if verdict is Verdict.NO_TESTS and block.files is None:
        # The cut line may say that a file could not be loaded.
        return Summary(framework, Verdict.UNKNOWN, counts, line, f"{framework}: files are cut", final=False)
    return Summary(framework, verdict, counts, line, f"{framework}: summary block")


def _blocks(framework: str, pattern: re.Pattern[str], output: Output, *needles: str) -> Iterator[Summary]:
    block: _Block | None = None
    for index, text in output.containing(*needles):
        match = pattern.match(text)
        if match is None:
            continue
        name, words = match["name"], counted_words(match["words"])
        files = name in {"Test Suites", "Test Files"}
        if block is not None and (
            files or index - block.last > BLOCK_LINES or (name == "Tests" and block.tests)
        ):
            yield _summary(framework, output, block)
            block = None
        block = block or _Block(index, index)
        block.last = index
        if files:
            block.files = words
        elif name == "Tests":
            block.tests = words
        else:
            block.errors = (block.errors or 0) + sum(words.values())
    if block is not None:
        yield _summary(framework, output, block)


def _reports(framework: str, output: Output) -> Iterator[Summary]:
    """Read the JSON report, which both print alike."""
    for index in output.indices('"numTotalTests"', '"numPassedTests"'):
        text = output.text_at(index).strip()
        if not text.startswith("{") or len(text) > REPORT_CHARACTERS:
            continue
        try:
            report = json.loads(text)
        except (ValueError, RecursionError):
            continue
        numbers = {key: value for key, value in report.items() if isinstance(value, int)}
        passed, failed = numbers.get("numPassedTests", 0), numbers.get("numFailedTests", 0)
        not_loaded = numbers.get("numRuntimeErrorTestSuites", 0) or numbers.get("numFailedTestSuites", 0)
        counts = Counts(passed, failed, None, numbers.get("numPendingTests"))
        if failed:
            verdict = Verdict.FAILED
        elif not_loaded or report.get("success") is False:
            verdict = Verdict.ERROR
        else:
            verdict = Verdict.PASSED if passed else Verdict.NO_TESTS
        yield Summary(framework, verdict, counts, output.number_at(index), f"{framework}: JSON report")


def _jest_summaries(output: Output) -> list[Summary]:
    # A report on the same stream repeats the summary.
    found = list(_blocks("jest", _JEST, output, "Test Suites:", "Tests:")) or list(_reports("jest", output))
    gates = read_all(output, *_GATE)
    if any(gate.verdict is Verdict.FAILED for gate in gates):
        found = [_gated(summary, gates[0]) for summary in found] or gates
    else:
        found += gates
    return found


def _gated(summary: Summary, gate: Summary) -> Summary:
    if summary.verdict is not Verdict.PASSED:
        return summary
    return Summary(summary.framework, gate.verdict, summary.counts, gate.line, gate.rule)


def _vitest_summaries(output: Output) -> list[Summary]:
    found = list(_blocks("vitest", _VITEST, output, "Test Files ", "  Tests ", "  Errors "))
    found = found or list(_reports("vitest", output))
    gates = read_all(output, *_VITEST_CLOSINGS)
    if any(gate.verdict is Verdict.FAILED for gate in gates):
        found = [_gated(summary, gates[0]) for summary in found] or gates
    else:
        found += gates
    return found


def _runs_jest(program: Program) -> bool:
    if program.tool in {"react-scripts", "craco", "tsdx"}:
        return program.first == "test"
    if program.tool == "vue-cli-service":
        return program.first.startswith("test")
    return program.tool in _JEST_PROGRAMS


def _lists_vitest(program: Program) -> bool:
    return program.first == "list" or program.has(*_VITEST_LISTING)


JEST = Family(
    "jest",
    _runs_jest,
    _jest_summaries,
    reader(*_JEST_SIGNS),
    lambda program: program.has(*_JEST_LISTING),
    formats=("tap",),
    statuses={1: Verdict.FAILED},
)
VITEST = Family(
    "vitest",
    lambda program: program.tool in _VITEST_PROGRAMS,
    _vitest_summaries,
    reader(*_VITEST_SIGNS),
    _lists_vitest,
    formats=("tap",),
    statuses={1: Verdict.FAILED},
)
