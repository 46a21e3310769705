"""Languages with one runner each: ExUnit, Swift, Dart, busted, Pester, testthat, clojure.test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    LineGrammar,
    by_counts,
    closings,
    no_signs,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.output import Output

_VERSION_OR_HELP = ("--version", "--help", "-h")

# ExUnit

_EXUNIT = re.compile(
    r"^(?:\d+ doctests?, )?(?:\d+ propert(?:y|ies), )?(?P<ran>\d+) tests?, (?P<failed>\d+) failures?"
    r"(?:, (?P<excluded>\d+) excluded)?(?:, (?P<invalid>\d+) invalid)?(?:, (?P<skipped>\d+) skipped)?$"
)
_EXUNIT_CLOSINGS = closings(
    "exunit", ("There are no tests to run", r"^There are no tests to run", Verdict.NO_TESTS, "no tests")
)
_EXUNIT_SIGNS = signs(
    "exunit",
    (") test ", r"^\s+\d+\) test .* \(\S+\)$", Verdict.FAILED, "failed test"),
    ("Compilation error", r"^== Compilation error in file ", Verdict.ERROR, "compilation error"),
    ("** (", r"^\*\* \((?!exit)\S+\) ", Verdict.ERROR, "did not start"),
    general=("** (",),
)


def _exunit_summaries(output: Output) -> list[Summary]:
    found = []
    for index, text in output.containing(" failure"):
        match = _EXUNIT.match(text)
        if match is None:
            continue
        skipped = int(match["skipped"]) if match["skipped"] else None
        invalid = int(match["invalid"]) if match["invalid"] else None
        counts = Counts(None, int(match["failed"]), invalid, skipped)
        doctests = sum(int(number) for number in re.findall(r"(\d+) (?:doctest|propert)", text))
        ran = int(match["ran"]) + doctests - int(match["excluded"] or 0)
        found.append(
            Summary(
                "exunit", by_counts(counts, ran=ran), counts, output.number_at(index), "exunit: summary line"
            )
        )
    return [*found, *read_all(output, *_EXUNIT_CLOSINGS)]


EXUNIT = Family(
    "exunit",
    lambda program: program.tool == "mix" and program.first in {"test", "coveralls", "espec", "test.watch"},
    _exunit_summaries,
    reader(*_EXUNIT_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP),
    several=True,
    statuses={1: Verdict.FAILED, 2: Verdict.FAILED},
)

# Swift

_XCTEST = LineGrammar(
    "swift-test",
    "Executed ",
    re.compile(
        r"^\s*Executed (?P<ran>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and "
        r")?(?P<failed>\d+) failures? \("
    ),
)
_TESTING = re.compile(r"Test run with (?P<ran>\d+) tests?(?: in \d+ suites?)? (?P<word>passed|failed) after ")
_SWIFT_SIGNS = signs(
    "swift-test",
    ("Test Case ", r"^Test Case .* failed \(", Verdict.FAILED, "failed test"),
    ("** TEST FAILED **", r"^\*\* TEST FAILED \*\*", Verdict.FAILED, "test failed"),
    (": error: ", r"^\S+:\d+:\d+: error: ", Verdict.ERROR, "compile error"),
    ("error: ", r"^error: ", Verdict.ERROR, "did not start"),
    ("** BUILD FAILED **", r"^\*\* (?:TEST )?BUILD FAILED \*\*", Verdict.ERROR, "build failed"),
    ("** TEST SUCCEEDED **", r"^\*\* TEST SUCCEEDED \*\*", Verdict.PASSED, "test succeeded"),
    ("Test Suite ", r"^Test Suite .* started at ", Verdict.UNKNOWN, "start without an end"),
    general=(": error: ", "error: "),
)


def _swift_summaries(output: Output) -> list[Summary]:
    # The suites are nested: the last line of XCTest holds all of them. Swift Testing counts apart.
    found = read_all(output, _XCTEST)[-1:]
    for index, text in output.containing("Test run with "):
        match = _TESTING.search(text)
        if match is not None:
            green = Verdict.PASSED if int(match["ran"]) else Verdict.NO_TESTS
            verdict = Verdict.FAILED if match["word"] == "failed" else green
            found.append(
                Summary("swift-test", verdict, NO_COUNTS, output.number_at(index), "swift testing: result")
            )
    return found


SWIFT = Family(
    "swift-test",
    lambda program: (
        (program.tool == "swift" and program.first == "test")
        or (program.tool == "xcodebuild" and bool({"test", "test-without-building"} & set(program.arguments)))
    ),
    _swift_summaries,
    reader(*_SWIFT_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP, "--list-tests", "-l") or "list" in program.arguments[1:2],
    several=True,
    statuses={1: Verdict.FAILED},
)

# Dart and Flutter redraw one line

_DART = re.compile(
    r"^\d\d:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: (?P<word>All "
    r"tests passed!|Some tests failed\."
    r"|All tests skipped\.|No tests ran\.)"
)


def _dart_summaries(output: Output) -> list[Summary]:
    found = []
    for index, text in output.containing("All tests", "Some tests failed", "No tests ran"):
        match = _DART.match(text)
        if match is not None:
            numbers = {name: int(match[name]) for name in ("passed", "skipped", "failed") if match[name]}
            counts = Counts(**numbers)
            verdict = Verdict.FAILED if match["word"].startswith("Some") else by_counts(counts)
            found.append(Summary("dart", verdict, counts, output.number_at(index), "dart: last line"))
    return found


DART = Family(
    "dart",
    lambda program: (
        program.tool in {"dart", "flutter"}
        and program.first in {"test", "run"}
        and "test" in program.arguments
    ),
    _dart_summaries,
    no_signs,
    lambda program: program.has(*_VERSION_OR_HELP),
    statuses={1: Verdict.FAILED, 79: Verdict.NO_TESTS},
)

# One line with all numbers

_LINES = (
    LineGrammar(
        "busted",
        " success",
        re.compile(
            r"^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<errors>\d+) "
            r"errors? / (?P<skipped>\d+) pending"
        ),
    ),
    LineGrammar(
        "pester",
        "Tests Passed: ",
        re.compile(r"^Tests Passed: (?P<passed>\d+), Failed: (?P<failed>\d+), Skipped: (?P<skipped>\d+)"),
    ),
    LineGrammar(
        "testthat",
        "[ FAIL ",
        re.compile(
            r"^\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]"
        ),
    ),
    LineGrammar(
        "clojure-test", " failures, ", re.compile(r"^(?P<failed>\d+) failures, (?P<errors>\d+) errors\.$")
    ),
)
_BUSTED_SIGNS = signs(
    "busted",
    ("Failure → ", r"^Failure (?:→|->) \S+ @ \d+", Verdict.FAILED, "failed test"),
    ("Failure -> ", r"^Failure (?:→|->) \S+ @ \d+", Verdict.FAILED, "failed test"),
    ("Error -> ", r"^Error (?:→|->) \S+ @ \d+", Verdict.ERROR, "test with an error"),
)

LINES = Family(
    "busted",
    lambda program: (
        program.tool in {"busted", "Invoke-Pester"}
        or (program.tool in {"lein", "clj", "clojure"} and any("test" in word for word in program.arguments))
    ),
    reader(*_LINES),
    reader(*_BUSTED_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP, "--list"),
)

FAMILIES = (EXUNIT, SWIFT, DART, LINES)
