"""unittest and what prints as it does: Django, green, nose, nose2, trial, shunit2; stestr; doctest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.programs import PYTHON
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    LineGrammar,
    by_counts,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "unittest"

_PROGRAMS = frozenset(
    {"unittest", "unittest2", "nose2", "nosetests", "nose", "green", "trial", "testtools.run"}
)
_STESTR = frozenset({"stestr", "testr", "ostestr"})
_LISTING = ("--version", "--help", "-h", "--collect-only", "--list", "-l", "-n")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests?|runtests)\.py$")

_RAN = re.compile(r"^Ran (?P<ran>\d+) tests?(?:\.| in \d.*)$")
_RESULT = re.compile(r"^(?P<word>OK|FAILED|PASSED|NO TESTS RAN)(?: \((?P<numbers>[^()]*)\))?$")
_NUMBER = re.compile(r"\b([a-z]{1,20}(?: [a-z]{1,20})?)=(\d{1,9})")

LINES_TO_RESULT = 4
"""How far below `Ran N tests` its result stands: a blank line, and what a test printed late."""

_SIGNS = signs(
    NAME,
    ("Test passed.", r"^Test passed\.$", Verdict.PASSED, "doctest passed"),
    ("FAIL", r"^FAIL: \w+ \(|^\S.* \.\.\. FAIL$", Verdict.FAILED, "failed test"),
    ("UNEXPECTED SUCCESS", r"^UNEXPECTED SUCCESS: ", Verdict.FAILED, "unexpected success"),
    ("ERROR", r"^ERROR: \w+ \(|^\S.* \.\.\. ERROR$", Verdict.ERROR, "test with an error"),
    ("FAILED", r"^\{\d+\} \S+ \[.*\] \.\.\. FAILED$", Verdict.FAILED, "failed test"),
)


def runs(program: Program) -> bool:
    """Whether a program is unittest or one of its kind."""
    if program.tool in _PROGRAMS or program.tool in {"doctest", "django"}:
        return True
    if program.tool in _STESTR:
        return "run" in program.arguments or program.first == "last"
    script = program.script.rsplit("/", 1)[-1]
    if script == "manage.py" or program.tool in {"django-admin", "manage.py"}:
        return "test" in program.arguments
    return (program.name in PYTHON and _TEST_FILE.search(program.script) is not None) or (
        script == "setup.py" and "test" in program.arguments
    )


def lists(program: Program) -> bool:
    """Whether it is called so that it runs nothing."""
    if program.tool in _STESTR:
        return program.has("--help", "--version", "--list")
    return not program.script and program.has(*_LISTING[:3], "--collect-only")


def silent(program: Program) -> bool:
    """Whether a green run prints nothing: doctest without -v, and a test file that is a plain script."""
    return program.tool == "doctest" or (program.name in PYTHON and bool(program.script))


def summaries(output: Output) -> list[Summary]:
    """Return what the runs say."""
    found = [*_blocks(output), *_stestr_totals(output), *read_all(output, _DOCTEST_VERBOSE, _DOCTEST_RED)]
    return sorted(found, key=lambda summary: summary.line)


def _blocks(output: Output) -> list[Summary]:
    found: list[tuple[bool, Summary]] = []
    ran: tuple[int, int] | None = None
    for index, text in output.containing("Ran ", "OK", "FAILED (", "PASSED (", "NO TESTS RAN"):
        begin, result = _RAN.match(text), _RESULT.match(text)
        if begin is not None:
            ran = (index, int(begin["ran"]))
        elif result is None:
            continue
        elif ran is not None and index - ran[0] <= LINES_TO_RESULT:
            framed = not output.text_at(ran[0] - 1).strip("-")
            found.append((framed, _result(output, index, result, ran[1])))
            ran = None
        elif (
            not output.text_at(index - 1)
            and result["word"] != "NO TESTS RAN"
            and not _stands_alone(output, index)
        ):
            found.append((True, _result(output, index, result, None)))
    # A test may print such lines itself, after the real ones too; those stand under a rule.
    framed_only = [summary for framed, summary in found if framed]
    return framed_only or [summary for _, summary in found]


def _stands_alone(output: Output, index: int) -> bool:
    """Whether a bare OK is the only line: any script may print that."""
    return output.text_at(index) == "OK" and index == 0


def _result(output: Output, index: int, match: re.Match[str], ran: int | None) -> Summary:
    numbers = {word: int(number) for word, number in _NUMBER.findall(match["numbers"] or "")}
    skipped = numbers.get("skipped", numbers.get("skips"))
    failed = numbers.get("failures")
    errors = numbers.get("errors")
    line = output.number_at(index)
    if match["word"] == "FAILED":
        counts = Counts(numbers.get("passes", numbers.get("successes")), failed, errors, skipped)
        only_errors = bool(errors) and not failed and not numbers.get("unexpected successes")
        verdict = Verdict.ERROR if only_errors else Verdict.FAILED
        return Summary(NAME, verdict, counts, line, "unittest: FAILED")
    if ran is None:
        unclear = Verdict.UNKNOWN if skipped else Verdict.PASSED
        return Summary(NAME, unclear, Counts(skipped=skipped), line, "unittest: OK")
    passed = ran - (skipped or 0) - numbers.get("expected failures", 0)
    executed = ran - (skipped or 0)
    verdict = Verdict.PASSED if executed > 0 and match["word"] != "NO TESTS RAN" else Verdict.NO_TESTS
    return Summary(NAME, verdict, Counts(max(passed, 0), skipped=skipped), line, "unittest: OK after Ran")


_DOCTEST_VERBOSE = LineGrammar(
    "unittest", " passed and ", re.compile(r"^(?P<passed>\d+) passed and (?P<failed>\d+) failed\.$")
)
_DOCTEST_RED = LineGrammar(
    "unittest", "***Test Failed***", re.compile(r"^\*\*\*Test Failed\*\*\* (?P<failed>\d+) failures?")
)

_TOTAL = re.compile(r"^ - (Passed|Skipped|Expected Fail|Unexpected Success|Failed): (\d+)$")


def _stestr_totals(output: Output) -> Iterator[Summary]:
    numbers: dict[str, int] = {}
    last = -1
    for index, text in output.containing(
        " - Passed:", " - Skipped:", " - Expected", " - Unexpected", " - Failed:"
    ):
        match = _TOTAL.match(text)
        if match is None:
            continue
        if match[1] in numbers:
            yield _totals(output, last, numbers)
            numbers = {}
        numbers[match[1]] = int(match[2])
        last = index
    if numbers:
        yield _totals(output, last, numbers)


def _totals(output: Output, index: int, numbers: dict[str, int]) -> Summary:
    line = output.number_at(index)
    failed = numbers.get("Failed")
    if failed is None and not numbers.get("Unexpected Success"):
        return Summary(NAME, Verdict.UNKNOWN, NO_COUNTS, line, "stestr: totals cut", final=False)
    counts = Counts(numbers.get("Passed"), failed, None, numbers.get("Skipped"))
    if numbers.get("Unexpected Success"):
        verdict = Verdict.FAILED
    elif "Passed" in numbers:
        verdict = by_counts(
            counts, ran=numbers["Passed"] + numbers.get("Expected Fail", 0) + (counts.skipped or 0)
        )
    else:
        verdict = Verdict.FAILED if failed else Verdict.UNKNOWN
    return Summary(NAME, verdict, counts, line, "stestr: totals")


FAMILY = Family(
    NAME,
    runs,
    summaries,
    reader(*_SIGNS),
    lists,
    silent,
    statuses={1: Verdict.FAILED, 5: Verdict.NO_TESTS},
    last_counts=False,
    formats=("pytest",),
)
