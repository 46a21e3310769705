"""mocha, and the runners of browsers that count as it does: Cypress, karma, WebdriverIO."""

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
    read_all,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "mocha"

_PROGRAMS = frozenset({"mocha", "_mocha", "electron-mocha", "ts-mocha", "mochapack", "mocha-webpack", "wtr"})
_BROWSER_PROGRAMS = frozenset({"cypress", "karma", "wdio", "testcafe", "ng"})

_PASSING = re.compile(r"^\s*(?P<number>\d+) passing(?: \(\d[^()]*\))?$")
_OTHER = re.compile(r"^\s*(?P<number>\d+) (?P<word>failing|pending)$")
_GREEN_TEST = re.compile(r"^\s+[✓✔√] ")
_STATISTIC = re.compile(r'^\s*"(?P<name>tests|passes|pending|failures)": (?P<number>\d+),?$')

_CLOSINGS = closings(
    NAME, ("No test files found", r"^Error: No test files found", Verdict.NO_TESTS, "no test files found")
)
_SIGNS = signs(
    NAME,
    ("hook for ", r'^\s+\d+\) .*"(?:before|after) (?:all|each)" hook', Verdict.FAILED, "failed hook"),
    ('" hook', r'^\s+"(?:before|after) (?:all|each)" hook', Verdict.FAILED, "failed hook"),
    (") ", r"^    +\d+\) \S", Verdict.FAILED, "failed test"),
    ("Exception during run", r"^\s*Exception during run:", Verdict.ERROR, "exception during the run"),
    ("Error: Cannot find module", r"^Error: Cannot find module", Verdict.ERROR, "test file not loaded"),
    general=(") ", "Error: Cannot find module"),
)
_BROWSERS = (
    LineGrammar(
        "karma",
        "Executed ",
        re.compile(
            r"Executed \d+ of (?P<ran>\d+)(?: \((?P<failed>\d+) FAILED\))?"
            r"(?: \(skipped (?P<skipped>\d+)\))?(?: SUCCESS)? \([\d.]+ (?:secs|mins?)"
        ),
    ),
    LineGrammar(
        "wdio",
        "Spec Files:",
        re.compile(
            r"^Spec Files:\s+(?:(?P<passed>\d+) passed, )?(?:(?P<failed>\d+) failed, )?(?:\d+ "
            r"retries, )?\d+ total"
        ),
    ),
)
_CYPRESS = re.compile(r"^\s*(?:✖\s+(?P<failed>\d+) of (?P<ran>\d+) failed|✔\s+All specs passed!)")


def runs(program: Program) -> bool:
    """Whether a program is mocha or one of its kind."""
    if program.tool in _BROWSER_PROGRAMS:
        return program.first in {"run", "start", "test", "wdio.conf.js", "wdio.conf.ts", "chrome", "e2e"}
    return program.tool in _PROGRAMS


def lists(program: Program) -> bool:
    """Whether it is called so that it runs nothing."""
    return program.has("--version", "-V", "--help", "-h", "--dry-run", "--list-files", "--list-reporters")


def summaries(output: Output) -> list[Summary]:
    """Return the closing words of the runs."""
    found = [
        *_epilogues(output),
        *_statistics(output),
        *_cypress(output),
        *read_all(output, *_BROWSERS, *_CLOSINGS),
    ]
    return sorted(found, key=lambda summary: summary.line)


def marks(output: Output) -> list[Summary]:
    """Return the signs of runs without closing words."""
    return [*_stray_failing(output), *read_all(output, *_SIGNS)]


def _epilogues(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" passing"):
        match = _PASSING.match(text)
        if match is None:
            continue
        numbers = {"passing": int(match["number"])}
        last = index
        while (other := _OTHER.match(output.text_at(last + 1))) is not None and other["word"] not in numbers:
            numbers[other["word"]] = int(other["number"])
            last += 1
        counts = Counts(numbers["passing"], numbers.get("failing"), None, numbers.get("pending"))
        yield Summary(NAME, by_counts(counts), counts, output.number_at(last), "mocha: epilogue")


def _stray_failing(output: Output) -> Iterator[Summary]:
    """Read a failing line whose passing line is cut: below it come details, never green tests."""
    for index, text in output.containing(" failing"):
        match = _OTHER.match(text)
        if match is None or match["word"] != "failing" or match["number"] == "0":
            continue
        if any(_GREEN_TEST.match(line) for line in (output.text_at(i) for i in range(index + 1, index + 30))):
            continue
        counts = Counts(failed=int(match["number"]))
        yield Summary(
            NAME, Verdict.FAILED, counts, output.number_at(index), "mocha: failing line", final=False
        )
        return


def _statistics(output: Output) -> Iterator[Summary]:
    """Read the JSON reporter's statistics, which are printed line by line."""
    numbers: dict[str, int] = {}
    last = -1
    for start in output.indices('"stats": {'):
        for index in range(start + 1, start + 10):
            match = _STATISTIC.match(output.text_at(index))
            if match is not None and match["name"] not in numbers:
                numbers[match["name"]] = int(match["number"])
                last = index
        break
    if "tests" not in numbers or "passes" not in numbers:
        return
    failed = numbers.get("failures")
    if failed is None and numbers["tests"] == numbers["passes"]:
        failed = 0
    counts = Counts(numbers["passes"], failed, None, numbers.get("pending"))
    if failed is None:
        yield Summary(
            NAME, Verdict.UNKNOWN, NO_COUNTS, output.number_at(last), "mocha: statistics cut", final=False
        )
    else:
        yield Summary(NAME, by_counts(counts), counts, output.number_at(last), "mocha: statistics")


def _cypress(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" failed", "All specs passed!"):
        match = _CYPRESS.match(text)
        if match is not None:
            verdict = Verdict.FAILED if match["failed"] else Verdict.PASSED
            yield Summary("cypress", verdict, NO_COUNTS, output.number_at(index), "cypress: table of specs")


FAMILY = Family(
    NAME, runs, summaries, marks, lists, scattered=True, formats=("tap",), statuses={1: Verdict.FAILED}
)  # fmt: skip
