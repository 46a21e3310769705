"""PHPUnit, and Pest and Codeception, which stand on it."""

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

NAME = "phpunit"

_PROGRAMS = frozenset({"phpunit", "pest", "paratest", "codecept", "simple-phpunit"})

_GREEN = LineGrammar(NAME, "OK (", re.compile(r"^\s*OK \((?P<passed>\d+) tests?, \d+ assertions?\)$"))
_TOTALS = re.compile(r"^Tests: \d+, Assertions: \d+(?:, [A-Z][A-Za-z ]+: \d+)*\.$")
_TOTAL = re.compile(r"\b([A-Z][A-Za-z ]{1,30}): (\d{1,9})")
_BANNER = re.compile(r"^(?:FAILURES!|ERRORS!|WARNINGS!|OK, but .*)$")
_PEST = re.compile(r"^\s*Tests:\s+(?P<words>\d+ .*) \(\d+ assertions?\)$")
_CLOSINGS = closings(
    NAME, ("No tests executed!", r"^No tests executed!", Verdict.NO_TESTS, "no tests executed")
)
_SIGNS = (
    *signs(
        NAME,
        ("There w", r"^There (?:was|were) \d+ failures?:$", Verdict.FAILED, "list of failures"),
        ("There w", r"^There (?:was|were) \d+ errors?:$", Verdict.ERROR, "list of errors"),
        ("FAILURES!", r"^FAILURES!$", Verdict.FAILED, "banner"),
        ("ERRORS!", r"^ERRORS!$", Verdict.ERROR, "banner"),
        ("PHP ", r"^(?:PHP )?(?:Fatal|Parse) error: ", Verdict.ERROR, "fatal error"),
        ("Cannot open", r"^Cannot open file ", Verdict.ERROR, "no such file"),
        ("not found", r"^Test (?:file|directory) .* not found", Verdict.ERROR, "no such file"),
        ("by Sebastian", r"^PHPUnit \d", Verdict.UNKNOWN, "start without an end"),
    ),
)


def _runs(program: Program) -> bool:
    if program.tool in _PROGRAMS:
        return program.tool != "codecept" or program.first == "run"
    last = program.script.rsplit("/", 1)[-1]
    if program.name == "php":
        return (
            last in _PROGRAMS or last == "phpunit.phar" or (last == "artisan" and "test" in program.arguments)
        )
    return program.tool == "artisan" and program.first == "test"


def _totals(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("Assertions: "):
        if not _TOTALS.match(text):
            continue
        numbers = {name: int(number) for name, number in _TOTAL.findall(text)}
        skipped = numbers.get("Skipped", 0) + numbers.get("Incomplete", 0)
        shown = Counts(None, numbers.get("Failures"), numbers.get("Errors"), numbers.get("Skipped"))
        verdict = by_counts(shown)
        if verdict is Verdict.PASSED:
            banner = next(
                (t for i in range(index - 1, index - 4, -1) if _BANNER.match(t := output.text_at(i))), ""
            )
            if numbers["Tests"] <= skipped:
                verdict = Verdict.NO_TESTS
            elif banner.startswith(("FAILURES", "ERRORS", "WARNINGS")):
                verdict = Verdict.FAILED if banner.startswith("FAILURES") else Verdict.ERROR
        yield Summary(NAME, verdict, shown, output.number_at(index), "phpunit: totals")


def _pest(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" assertion"):
        match = _PEST.match(text)
        if match is None:
            continue
        numbers = counted_words(match["words"])
        counts = Counts(numbers.get("passed"), numbers.get("failed"), None, numbers.get("skipped"))
        green = counts.passed or numbers.get("risky") or numbers.get("warning") or numbers.get("warnings")
        verdict = Verdict.FAILED if counts.failed else Verdict.PASSED if green else Verdict.NO_TESTS
        yield Summary("pest", verdict, counts, output.number_at(index), "pest: summary line")


def _summaries(output: Output) -> list[Summary]:
    found = [*read_all(output, _GREEN), *_totals(output), *_pest(output)]
    found.sort(key=lambda summary: summary.line)
    return [*found, *read_all(output, *_CLOSINGS)]


FAMILY = Family(
    NAME,
    _runs,
    _summaries,
    reader(*_SIGNS),
    lambda program: program.has(
        "--version", "--help", "-h", "--list-tests", "--list-suites", "--list-groups"
    ),
    statuses={1: Verdict.FAILED, 2: Verdict.ERROR, 255: Verdict.ERROR},
)
