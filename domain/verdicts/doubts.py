"""When green words do not make a green call: exit codes, gates, silent runs, lines that are cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.case import first
from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.statuses import TIMED_OUT, abnormal
from tokeneconomizer.domain.verdicts.views import LINES_BELOW_MARKER

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.case import Case
    from tokeneconomizer.domain.verdicts.model import RunnerVerdict
    from tokeneconomizer.domain.verdicts.runners.base import Family

_COVERAGE_GATE = re.compile(
    r"overage\b.*(?:does not meet (?:\S+ )?threshold|is below the expected minimum|threshold .*not met"
    r"|less than fail-under)"
)
_NODE = frozenset({"node", "nodejs"})
_WATCHING = ("--watch", "-w", "--watchAll", "watch", "--ui", "dev")
_FLAKY = re.compile(r"^\s+\d+ flaky$")
_FLAKY_IS_RED = "--fail-on-flaky-tests"
IGNORING_FAILURES = ("-Dmaven.test.failure.ignore", "-fn", "--fail-never", "--continue")
"""Options with which a run ends well whatever its tests say."""


def contradicted(case: Case, summary: Summary) -> RunnerVerdict | None:
    """Decide where a run's own exit code contradicts its green or empty words."""
    for call in case.running:
        status = case.statuses.get(call.invocation.position, 0)
        if status == 0 or (
            status == TIMED_OUT and summary.verdict is Verdict.PASSED and _watches(case, call)
        ):
            continue
        if abnormal(status):
            return case.said(summary, Verdict.ERROR, "exit code: ended by a signal or time-out")
        if summary.verdict is Verdict.PASSED:
            return case.said(summary, Verdict.FAILED, "exit code against green words")
        if call.family and call.family.statuses.get(status) is Verdict.ERROR:
            return case.said(summary, Verdict.ERROR, "exit code of an error")
    return None


def _watches(case: Case, call: Call) -> bool:
    return call.program.has(*_WATCHING) or "Waiting for file changes" in case.output.text


def doubted(case: Case, summary: Summary) -> RunnerVerdict | None:
    """Decide where green words do not prove a green call."""
    red = _red_nearby(case, summary)
    if red is not None:
        return case.said(red, red.verdict)
    if case.evidence.missing or case.evidence.doubtful:
        return case.silent(Verdict.UNKNOWN, "a run without words of its own")
    if red_may_be_hidden(case):
        return case.silent(Verdict.UNKNOWN, "red lines may be cut or filtered away")
    return None


def _red_nearby(case: Case, summary: Summary) -> Summary | None:
    """Return what is red beside the summary: a gate, a run that did not start, a failed test before a cut."""
    if summary.verdict is Verdict.PASSED:
        gate = _gate(case)
        if gate is not None:
            return gate
        if case.view.end_cut:
            marks = [mark for family, _ in case.evidence.finals for mark in family.signs(case.output)]
            return first(marks, Verdict.FAILED) or first(marks, Verdict.ERROR)
    crash = case.start_failure() if case.evidence.missing else None
    return crash if crash is not None and crash.verdict is Verdict.ERROR else None


def _gate(case: Case) -> Summary | None:
    """Return the words that make a run with green tests red: a coverage threshold, or flaky tests."""
    strict = any(call.program.has(_FLAKY_IS_RED) for call in case.runs)
    for index, text in case.output.containing("overage", " flaky"):
        number = case.output.number_at(index)
        if _COVERAGE_GATE.search(text):
            return Summary(
                case.framework or "", Verdict.FAILED, Counts(), number, "coverage below its threshold"
            )
        if strict and _FLAKY.match(text):
            return Summary(
                case.framework or "", Verdict.FAILED, Counts(), number, "flaky, which is red by option"
            )
    return None


def red_may_be_hidden(case: Case) -> bool:
    """Whether a filter, a limit or an option may keep red lines from being seen."""
    view = case.view
    if view.filtered and any(_filter_may_hide(case, *final) for final in case.evidence.finals):
        return True
    if view.end_cut:
        end = case.output.last
        for family, summary in case.evidence.finals:
            at_the_end = case.output.number_at(end) - summary.line < LINES_BELOW_MARKER if end >= 0 else True
            if family.several or (family.scattered and at_the_end and summary.counts.failed is None):
                return True
    ignoring = any(call.program.has(*IGNORING_FAILURES) for call in case.running)
    return ignoring and (view.start_cut or view.filtered)


def _filter_may_hide(case: Case, family: Family, summary: Summary) -> bool:
    if not family.scattered:
        return False
    if any(call.program.name in _NODE for call in case.runs):
        # node counts tests that were cancelled, by a time-out or a hook, in a line of their own.
        return "cancelled" not in case.output.text
    explicit = summary.counts.failed is not None
    return not family.filterable or not (explicit or case.view.keeps_red)
