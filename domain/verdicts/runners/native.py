"""C and C++: ctest, GoogleTest, cmocka, Catch2, doctest, check and the smaller ones; Meson; Bazel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    Family,
    LineGrammar,
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

# ctest

_CTEST = re.compile(r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<ran>\d+)$")
_CTEST_SKIPPED = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: .*\*\*\*Skipped")
_CTEST_CLOSINGS = closings(
    "ctest", ("No tests were found", r"^No tests were found!!!", Verdict.NO_TESTS, "no tests found")
)
_CTEST_SIGNS = signs(
    "ctest",
    ("The following tests FAILED", r"^The following tests FAILED:", Verdict.FAILED, "list of failed tests"),
    ("Errors while running", r"^Errors while running CTest", Verdict.FAILED, "errors while running"),
    ("***", r"^\s*\d+/\d+ Test\s+#\d+: .*\*\*\*(?:Failed|Exception|Timeout)", Verdict.FAILED, "failed test"),
    ("***Not Run", r"^\s*\d+/\d+ Test\s+#\d+: .*\*\*\*Not Run", Verdict.ERROR, "test not built"),
    ("Test project ", r"^Test project ", Verdict.UNKNOWN, "start without an end"),
)


def _ctest_summaries(output: Output) -> list[Summary]:
    found = []
    skipped = sum(_CTEST_SKIPPED.match(text) is not None for _, text in output.containing("***Skipped"))
    for index, text in output.containing("% tests passed"):
        match = _CTEST.match(text)
        if match is not None:
            counts = Counts(None, int(match["failed"]))
            verdict = by_counts(counts, ran=int(match["ran"]) - skipped)
            found.append(Summary("ctest", verdict, counts, output.number_at(index), "ctest: result line"))
    return [*found, *read_all(output, *_CTEST_CLOSINGS)]


def _runs_ctest(program: Program) -> bool:
    if program.tool == "ctest":
        return True
    return (
        program.tool == "cmake"
        and program.has("--build")
        and any(word in {"test", "check", "RUN_TESTS"} for word in program.arguments)
    )


CTEST = Family(
    "ctest",
    _runs_ctest,
    _ctest_summaries,
    reader(*_CTEST_SIGNS),
    lambda program: program.has("-N", "--show-only", "--version", "--help", "-h", "--print-labels"),
    lambda program: program.has("-Q", "--quiet"),
    statuses={8: Verdict.FAILED},
    several=True,
)

# GoogleTest and cmocka: red and green stand in lines of their own

_GTEST_NUMBER = re.compile(
    r"^\[  (?P<word>PASSED |FAILED |SKIPPED) \] (?P<number>\d+) test(?:s|\(s\))?(?:\.|, listed below:?)"
)
_GTEST_SIGNS = signs(
    "googletest",
    ("[  FAILED  ]", r"^\[  FAILED  \] \S", Verdict.FAILED, "failed test"),
    (" FAILED TEST", r"^\s*\d+ FAILED TEST(?:S|\(S\))?$", Verdict.FAILED, "number of failed tests"),
    (" DISABLED TEST", r"^\s+YOU HAVE \d+ DISABLED TESTS?$", Verdict.UNKNOWN, "number of disabled tests"),
    ("] Running ", r"^\[=+\] Running \d+ test", Verdict.UNKNOWN, "start without an end"),
)


def _gtest_summaries(output: Output) -> list[Summary]:
    found: list[Summary] = []
    numbers: dict[str, int] = {}
    last = -1
    for index, text in output.containing("[  PASSED", "[  FAILED", "[  SKIPPED"):
        match = _GTEST_NUMBER.match(text)
        if match is not None:
            word = match["word"].strip()
            if word == "PASSED" and numbers:
                found.append(_gtest(output, last, numbers))
                numbers = {}
            numbers[word] = int(match["number"])
            last = index
    if numbers:
        found.append(_gtest(output, last, numbers))
    return found


def _gtest(output: Output, index: int, numbers: dict[str, int]) -> Summary:
    counts = Counts(numbers.get("PASSED"), numbers.get("FAILED"), None, numbers.get("SKIPPED"))
    green = numbers.get("PASSED")
    verdict = by_counts(counts) if green is not None or counts.failed else Verdict.UNKNOWN
    return Summary("googletest", verdict, counts, output.number_at(index), "googletest: summary lines")


def _of_no_program(program: Program) -> bool:  # noqa: ARG001 - the signature of a family's question
    # Test binaries have any name: what they print says what they are.
    return False


GOOGLETEST = Family("googletest", _of_no_program, _gtest_summaries, reader(*_GTEST_SIGNS), scattered=True)

# Catch2, doctest and the smaller ones: one line with all numbers

_CATCH_GREEN = LineGrammar(
    "catch2",
    "All tests passed (",
    re.compile(r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)$"),
)
_CATCH_CASES = re.compile(
    r"^(?P<doctest>\[doctest\] )?test cases:\s+(?P<ran>\d+)(?P<rest>(?: \| +\d+ [a-z ]+?)*)(?: \|)?$"
)
_CATCH_CLOSINGS = (
    *closings(
        "catch2",
        ("No tests ran", r"^No tests ran$", Verdict.NO_TESTS, "no tests ran"),
        ("[doctest] Status: FAILURE!", r"^\[doctest\] Status: FAILURE!", Verdict.FAILED, "status line"),
        ("[doctest] Status: SUCCESS!", r"^\[doctest\] Status: SUCCESS!", Verdict.PASSED, "status line"),
    ),
)
_CATCH_SIGNS = signs(
    "catch2", ("fatal error condition", r"due to a fatal error condition", Verdict.FAILED, "fatal error")
)


def _catch_cases(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("test cases:"):
        match = _CATCH_CASES.match(text)
        if match is None:
            continue
        numbers = counted_words(match["rest"])
        counts = Counts(numbers.get("passed"), numbers.get("failed"), None, numbers.get("skipped"))
        framework = "doctest-cpp" if match["doctest"] else "catch2"
        expected = numbers.get("failed as expected", 0)
        verdict = by_counts(counts, ran=numbers.get("passed", 0) + expected + (counts.skipped or 0))
        yield Summary(framework, verdict, counts, output.number_at(index), f"{framework}: line of test cases")


def _catch_summaries(output: Output) -> list[Summary]:
    found = [*read_all(output, _CATCH_GREEN), *_catch_cases(output)]
    return found or read_all(output, *_CATCH_CLOSINGS)


CATCH2 = Family("catch2", _of_no_program, _catch_summaries, reader(*_CATCH_SIGNS), several=True)

_LINES = (
    LineGrammar(
        "check",
        "Checks: ",
        re.compile(r"^\d+%: Checks: (?P<ran>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)$"),
    ),
    LineGrammar(
        "criterion",
        "Synthesis: ",
        re.compile(
            r"Synthesis: Tested: \d+ \| Passing: (?P<passed>\d+) \| Failing: "
            r"(?P<failed>\d+) \| Crashing: (?P<errors>\d+)"
        ),
    ),
    LineGrammar(
        "unity",
        " Failures ",
        re.compile(r"^(?P<ran>\d+) Tests (?P<failed>\d+) Failures (?P<skipped>\d+) Ignored\s*$"),
    ),
    LineGrammar(
        "qtest",
        "Totals: ",
        re.compile(r"^Totals: (?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped"),
    ),
    LineGrammar("boost-test", "*** ", re.compile(r"^\*\*\* (?P<failed>\d+) failures? (?:is|are) detected")),
    LineGrammar(
        "bazel",
        "Executed ",
        re.compile(
            r"^Executed \d+ out of (?P<ran>\d+) tests?: (?:(?P<passed>\d+) tests? pass(?:es)?)?"
            r"(?:(?:,? and |, )?(?P<failed>\d+) fails?)?"
        ),
    ),
)  # fmt: skip
_LINE_CLOSINGS = closings(
    "boost-test", ("*** No errors detected", r"^\*\*\* No errors detected", Verdict.PASSED, "no errors")
)
_LINE_SIGNS = signs(
    "bazel", ("Build did NOT", r"Build did NOT complete successfully", Verdict.ERROR, "build failed")
)
_MESON = re.compile(r"^(?P<name>Ok|Fail|Timeout|Skipped):\s+(?P<number>\d+)\s*$")


def _meson(output: Output) -> Iterator[Summary]:
    numbers: dict[str, int] = {}
    last = -1
    if not output.indices("Ok:"):
        return
    for index, text in output.containing("Ok:", "Fail:", "Timeout:", "Skipped:"):
        match = _MESON.match(text)
        if match is not None:
            numbers[match["name"]] = int(match["number"])
            last = index
    if "Ok" in numbers and "Fail" in numbers:
        red = numbers["Fail"] + numbers.get("Timeout", 0)
        counts = Counts(numbers["Ok"], red, None, numbers.get("Skipped"))
        yield Summary("meson", by_counts(counts), counts, output.number_at(last), "meson: counts")


NATIVE_LINES = Family(
    "native",
    lambda program: program.tool in {"bazel", "bazelisk", "meson"} and program.first == "test",
    lambda output: [*read_all(output, *_LINES, *_LINE_CLOSINGS), *_meson(output)],
    reader(*_LINE_SIGNS),
    lambda program: program.has("--list", "--help", "--version"),
    several=True,
)

FAMILIES = (CTEST, GOOGLETEST, CATCH2, NATIVE_LINES)
