"""RSpec, minitest and test-unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import Family, LineGrammar, read_all, reader, signs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

_RSPEC_LINE = re.compile(
    r"(?P<ran>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"
    r"(?:, (?P<errors>\d+) errors? occurred outside of examples)?"
)
_RSPEC = LineGrammar("rspec", " example", re.compile(rf"^{_RSPEC_LINE.pattern}$"))
_RSPEC_REPORT = re.compile(rf'"summary_line":\s*"{_RSPEC_LINE.pattern}"')
_RSPEC_SIGNS = signs(
    "rspec",
    ("rspec ", r"^rspec \S+:\d+ # ", Verdict.FAILED, "line to rerun a failed example"),
    ("rspec ", r"^rspec '\S+\[[\d:]+\]' # ", Verdict.FAILED, "line to rerun a failed example"),
    ("Failed examples:", r"^Failed examples:$", Verdict.FAILED, "list of failed examples"),
    ("Failures:", r"^Failures:$", Verdict.FAILED, "list of failures"),
    (
        "An error occurred",
        r"^An error occurred (?:while loading|outside of)",
        Verdict.ERROR,
        "file not loaded",
    ),
    general=("Failures:",),
)


def _rspec_summaries(output: Output) -> list[Summary]:
    return [*read_all(output, _RSPEC), *_rspec_report(output)]


def _rspec_report(output: Output) -> Iterator[Summary]:
    for index in output.indices('"summary_line":'):
        text = output.text_at(index)
        match = _RSPEC_REPORT.search(text, max(text.rfind('"summary_line":'), 0))
        if match is None:
            continue
        numbers = {name: int(value) for name, value in match.groupdict().items() if value is not None}
        counts = Counts(None, numbers["failed"], numbers.get("errors"), numbers.get("skipped"))
        if counts.failed:
            verdict = Verdict.FAILED
        elif counts.errors:
            verdict = Verdict.ERROR
        else:
            verdict = Verdict.PASSED if numbers["ran"] > (counts.skipped or 0) else Verdict.NO_TESTS
        yield Summary("rspec", verdict, counts, output.number_at(index), "rspec: JSON report")


RSPEC = Family(
    "rspec",
    lambda program: program.tool in {"rspec", "parallel_rspec", "turbo_tests", "spec"}
    or (program.tool in {"rake", "rails"} and program.first.startswith("spec")),
    _rspec_summaries,
    reader(*_RSPEC_SIGNS),
    lambda program: program.has("--version", "-v", "--help", "-h", "--dry-run", "--init", "--bisect"),
    statuses={1: Verdict.FAILED},
)  # fmt: skip

_MINITEST = LineGrammar(
    "minitest",
    " assertion",
    re.compile(
        r"^(?P<ran>\d+) (?:runs?|tests?), \d+ assertions?, (?P<failed>\d+) failures?, "
        r"(?P<errors>\d+) errors?, "
        r"(?P<skipped>\d+) skips?$"
    ),
)
_TEST_UNIT = re.compile(
    r"^(?P<ran>\d+) tests?, \d+ assertions?, (?P<failed>\d+) failures?, (?P<errors>\d+) errors?, "
    r"(?P<pending>\d+) pendings?, (?P<omitted>\d+) omissions?, \d+ notifications?$"
)
_PERCENT = re.compile(r"^(?P<percent>\d+(?:\.\d+)?)% passed$")
_RATE = re.compile(r"^[\d.]+ tests/s, [\d.]+ assertions/s$")
_MINITEST_SIGNS = signs(
    "minitest",
    ("1) Failure:", r"^\s+\d+\) Failure:$", Verdict.FAILED, "failed test"),
    ("1) Error:", r"^\s+\d+\) Error:$", Verdict.ERROR, "test with an error"),
    ("Failure: ", r"^Failure: test", Verdict.FAILED, "failed test"),
    ("Error: ", r"^Error: test", Verdict.ERROR, "test with an error"),
    ("(LoadError)", r"\(LoadError\)$", Verdict.ERROR, "file not loaded"),
    ("`require", r"in [`'].*require'?: cannot load such file", Verdict.ERROR, "file not loaded"),
    ("# Running:", r"^# Running:", Verdict.UNKNOWN, "start without an end"),
)
_RUBY_TEST = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_(?:test|spec)|tests?|all|run_tests?)\.rb$")


def _runs_minitest(program: Program) -> bool:
    if program.tool in {"minitest", "testrb", "test-unit", "m"}:
        return True
    if program.tool in {"rake", "rails"}:
        return program.first.startswith("test")
    return program.name == "ruby" and _RUBY_TEST.search(program.script) is not None


def _minitest_summaries(output: Output) -> list[Summary]:
    found = sorted([*read_all(output, _MINITEST), *_test_unit(output)], key=lambda summary: summary.line)
    return found or list(_percent(output))


def _test_unit(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" notification"):
        match = _TEST_UNIT.match(text)
        if match is None:
            continue
        skipped = int(match["pending"]) + int(match["omitted"])
        counts = Counts(None, int(match["failed"]), int(match["errors"]), skipped)
        red = Verdict.FAILED if counts.failed else Verdict.ERROR if counts.errors else None
        green = Verdict.PASSED if int(match["ran"]) > skipped else Verdict.NO_TESTS
        yield Summary("test-unit", red or green, counts, output.number_at(index), "test-unit: summary line")


def _percent(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("% passed"):
        match = _PERCENT.match(text)
        if match is not None and _RATE.match(output.text_at(index + 2)):
            verdict = Verdict.PASSED if float(match["percent"]) == 100 else Verdict.FAILED  # noqa: PLR2004 - per cent
            yield Summary(
                "test-unit", verdict, Counts(), output.number_at(index), "test-unit: share of passed tests"
            )


MINITEST = Family(
    "minitest",
    _runs_minitest,
    _minitest_summaries,
    reader(*_MINITEST_SIGNS),
    lambda program: program.name != "ruby" and program.has("--version", "--help", "-h", "-T", "-P"),
    statuses={1: Verdict.FAILED},
    formats=("rspec",),
)

FAMILIES = (RSPEC, MINITEST)
