"""The Test Anything Protocol: node's runner, tap, tape, prove, Perl, bats; and node's spec reporter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    LineGrammar,
    closings,
    read_all,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "tap"

_PROGRAMS = frozenset({"tap", "tape", "prove", "pg_prove", "bats", "tap-spec", "brittle", "roca"})
_PERL_TEST = re.compile(r"\.t$")
_NODE_TEST = re.compile(r"(?:^|[/._-])(?:tests?|specs?)(?:[/._-]|$)")

_POINT = re.compile(r"^(?P<red>not )?ok\b(?: \d+)?(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"#\s*(?P<word>skip|todo)", re.IGNORECASE)
_PLAN = re.compile(r"^1\.\.(?P<planned>\d+)(?:\s|$)")
_COUNTER = re.compile(
    r"^(?:#|\u2139|\s*<!--) (?P<name>tests|suites|pass|fail|failed|cancelled|skipped|skip|todo)"
    r"\s+(?P<number>\d+)"
)
_TAPE_GREEN = re.compile(r"^# ok$")

COUNTER_GAP_LINES = 3
"""Counters of one summary stand together; tape leaves a blank line, mocha none."""

DOT_LINES = 50
"""More lines of points than that are no run that is worth a guess."""

_DOTS = re.compile(r"^\.+$")
_PERL_REMARKS = closings(
    NAME,
    ("# Looks like you", r"^# Looks like you (?:failed|planned)", Verdict.FAILED, "plan or tests failed"),
    ("# Looks like your", r"^# Looks like your test (?:exited|died)", Verdict.ERROR, "script ended early"),
    ("# Tests were run", r"^# Tests were run but no plan was declared", Verdict.ERROR, "no plan"),
    ("# No tests run!", r"^# No tests run!", Verdict.ERROR, "no tests run"),
)
_SIGNS = signs(
    NAME,
    ("# Looks like you", r"^# Looks like you (?:failed|planned)", Verdict.FAILED, "plan or tests failed"),
    ("failing tests:", r"^✖ failing tests:", Verdict.FAILED, "list of failing tests"),
    ("Failed tests:", r"^Failed tests:$", Verdict.FAILED, "list of failing tests"),
    ("bats warning", r"^# bats warning: Executed \d+ instead of", Verdict.FAILED, "plan not kept"),
    (
        "not meet threshold",
        r"coverage does not meet threshold",
        Verdict.FAILED,
        "coverage below its threshold",
    ),
    ("✖ ", r"^\s*✖ .+ \(\d+(?:\.\d+)?ms\)$", Verdict.FAILED, "failed test"),
    ("Could not find", r"^Could not find '", Verdict.ERROR, "no such test file"),
    ("Bail out!", r"^Bail out!", Verdict.ERROR, "bailed out"),
    ("aborted", r"^Execution of \S+ aborted due to compilation errors", Verdict.ERROR, "compilation error"),
    ("BEGIN failed", r"^BEGIN failed--compilation aborted", Verdict.ERROR, "compilation error"),
    general=("Failed tests:", "Could not find"),
)

_PROVE = closings(
    "prove",
    ("Result: PASS", r"^Result: PASS$", Verdict.PASSED, "result line"),
    ("Result: FAIL", r"^Result: FAIL$", Verdict.FAILED, "result line"),
    ("Result: NOTESTS", r"^Result: NOTESTS$", Verdict.NO_TESTS, "result line"),
)
_FILES = re.compile(r"^Files=(?P<files>\d+), Tests=(?P<tests>\d+),")

_PRETTY = LineGrammar(
    "bats",
    " test",
    re.compile(
        r"^(?P<ran>\d+) tests?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) skipped)?(?:, \d+ not run)?$"
    ),
)


def runs(program: Program) -> bool:
    """Whether a program speaks TAP."""
    if program.tool in _PROGRAMS:
        return True
    if program.name in {"node", "nodejs"}:
        return program.has("--test") or _NODE_TEST.search(program.script) is not None
    return program.name == "perl" and _PERL_TEST.search(program.script) is not None


def lists(program: Program) -> bool:
    """Whether it is called so that it runs nothing."""
    short = () if program.name in {"node", "nodejs", "perl"} else ("-h", "-V", "--count", "-c", "--dry")
    return program.has("--version", "--help", *short)


def silent(program: Program) -> bool:
    """Whether a green run may print nothing: a script with plain assertions."""
    return program.name in {"node", "nodejs"} and not program.has("--test")


def summaries(output: Output) -> list[Summary]:
    """Return what the runs say."""
    prove = [_with_files(output, summary) for summary in read_all(output, *_PROVE)]
    counters = [] if prove else list(_counter_blocks(output))
    found = [*prove, *counters, *read_all(output, _PRETTY)]
    if not found:
        # Below the tests Perl says what the lines themselves do not: a broken plan, an early end.
        remarks = read_all(output, *_PERL_REMARKS)
        points = list(_points(output))
        red = any(point.verdict is Verdict.FAILED for point in points)
        found.extend(points if red or not remarks else remarks)
    return found


def marks(output: Output) -> list[Summary]:
    """Return the signs of runs without closing words."""
    return [*read_all(output, *_SIGNS), *_dots(output)]


def _dots(output: Output) -> Iterator[Summary]:
    """Read the dot reporter of node: a point for each test that passed, and nothing else."""
    shown = [(index, line) for index, line in enumerate(output.lines[:DOT_LINES]) if line]
    if shown and len(output.lines) <= DOT_LINES and all(_DOTS.match(text) for _, text in shown):
        number = output.number_at(shown[-1][0])
        yield Summary(NAME, Verdict.PASSED, NO_COUNTS, number, "node: only points", final=False, general=True)


def _with_files(output: Output, summary: Summary) -> Summary:
    """Add the number of tests, and tell a file that did not run from a failed test."""
    tests = next(
        (int(m["tests"]) for _, text in output.containing("Files=") if (m := _FILES.match(text))), None
    )
    counts, verdict = NO_COUNTS, summary.verdict
    if tests is not None and verdict is Verdict.PASSED:
        counts = Counts(passed=tests)
    elif verdict is Verdict.FAILED and (tests == 0 or "No plan found in TAP output" in output.text):
        red_tests = "  Failed test" in output.text
        verdict = Verdict.FAILED if red_tests else Verdict.ERROR
    return Summary("prove", verdict, counts, summary.line, summary.rule)


@dataclass(slots=True)
class _Counters:
    first: int
    last: int
    numbers: dict[str, int] = field(default_factory=dict)
    ok: bool = False


def _counter_blocks(output: Output) -> Iterator[Summary]:
    block: _Counters | None = None
    for index, text in output.containing("# ", "\u2139 ", "<!-- "):
        match = _COUNTER.match(text)
        ok = _TAPE_GREEN.match(text) is not None
        if match is None and not ok:
            continue
        name = match["name"] if match else ""
        if block is not None and (index - block.last > COUNTER_GAP_LINES or name in block.numbers):
            yield from _counted(output, block)
            block = None
        if block is None:
            block = _Counters(index, index)
        block.last = index
        block.ok = block.ok or ok
        if match is not None:
            block.numbers[name] = int(match["number"])
    if block is not None:
        yield from _counted(output, block)


def _counted(output: Output, block: _Counters) -> Iterator[Summary]:
    numbers = block.numbers
    failed, passed = numbers.get("fail", numbers.get("failed")), numbers.get("pass")
    skipped = numbers.get("skipped", numbers.get("skip"))
    line = output.number_at(block.last)
    counts = Counts(passed, failed, None, skipped)
    if failed or numbers.get("cancelled"):
        loading = bool(failed) and not passed and output.text.count("'test failed'") >= (failed or 0)
        verdict = Verdict.ERROR if loading else Verdict.FAILED
    elif passed is not None and (failed == 0 or block.ok):
        verdict = Verdict.PASSED if passed else Verdict.NO_TESTS
    elif block.ok:
        verdict = Verdict.PASSED
    elif numbers.get("tests") == 0:
        verdict = Verdict.NO_TESTS
    else:
        return
    yield Summary(NAME, verdict, counts, line, "tap: counters")


def _points(output: Output) -> Iterator[Summary]:
    """Read the test lines themselves, where no runner has added them up."""
    planned: int | None = None
    seen = green = 0
    last = -1
    for index, text in output.containing("ok", "1.."):
        plan = _PLAN.match(text)
        if plan is not None:
            planned = (planned or 0) + int(plan["planned"])
            last = index
            continue
        point = _POINT.match(text)
        if point is None:
            continue
        seen += 1
        last = index
        directive = _DIRECTIVE.search(point["rest"])
        if point["red"] and directive is None:
            broken = "setup_file failed" in point["rest"] or "setup_suite failed" in point["rest"]
            verdict = Verdict.ERROR if broken else Verdict.FAILED
            yield Summary(NAME, verdict, NO_COUNTS, output.number_at(index), "tap: not ok")
            return
        green += directive is None or directive["word"].lower() == "todo"
    if last < 0 or planned is None:
        return
    line = output.number_at(last)
    if seen < planned:
        yield Summary(NAME, Verdict.UNKNOWN, NO_COUNTS, line, "tap: fewer tests than planned", final=False)
    elif seen > planned:
        yield Summary(NAME, Verdict.FAILED, NO_COUNTS, line, "tap: more tests than planned")
    elif green:
        yield Summary(NAME, Verdict.PASSED, NO_COUNTS, line, "tap: all planned tests are ok")
    else:
        yield Summary(NAME, Verdict.NO_TESTS, NO_COUNTS, line, "tap: nothing planned or all skipped")


FAMILY = Family(
    NAME, runs, summaries, marks, lists, silent, scattered=True, statuses={1: Verdict.FAILED},
)  # fmt: skip
