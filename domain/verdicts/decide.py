"""From what is seen and known to one verdict: red words first, then exit codes, green words, and doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.calls import Role
from tokeneconomizer.domain.verdicts.case import first, last
from tokeneconomizer.domain.verdicts.doubts import IGNORING_FAILURES, contradicted, doubted, red_may_be_hidden
from tokeneconomizer.domain.verdicts.model import Verdict
from tokeneconomizer.domain.verdicts.runners.base import EVERY
from tokeneconomizer.domain.verdicts.statuses import abnormal, red_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.case import Case
    from tokeneconomizer.domain.verdicts.model import RunnerVerdict, Summary

_OWN_REPORT = (
    "-R", "--reporter", "--reporters", "--test-reporter", "-f", "--format", "--formatter", "--output-format",
    "--logger", "--json", "--testdox", "-o", "-p", "--outputFile", "--log-junit", "--teamcity", "--silent",
)  # fmt: skip
"""Options with which a run may close in words that no grammar here knows."""


def decide(case: Case) -> RunnerVerdict:
    """Return the verdict on a command that runs tests, or may."""
    finals = case.finals
    closed = [family for family, _ in case.evidence.finals]
    called = [call.family for call in case.runs if call.family not in closed]
    empty = bool(finals) and all(summary.verdict is Verdict.NO_TESTS for summary in finals)
    signs = [
        sign
        for family, sign in case.evidence.signs
        # What runs other runners calls it a failure when one of them has found no test.
        if finals and family in called and not (empty and EVERY in family.formats)
    ]
    told = [*finals, *signs]
    red = first(told, Verdict.FAILED) or first(told, Verdict.ERROR)
    if red is not None:
        return case.said(red, red.verdict)
    if finals:
        verdict = _green(case)
        if verdict is not None:
            return verdict
    return _without_summary(case)


def _green(case: Case) -> RunnerVerdict | None:
    """Decide where all closing words are green or empty."""
    finals = case.finals
    green = last(finals, Verdict.PASSED)
    summary = green or last(finals, Verdict.NO_TESTS)
    if summary is None:
        return None
    refused = contradicted(case, summary)
    if refused is None and not case.proven:
        refused = doubted(case, summary)
    return refused or case.said(summary, summary.verdict)


def _without_summary(case: Case) -> RunnerVerdict:
    """Decide where no run has closing words."""
    signs = case.signs
    red = first(signs, Verdict.FAILED) or first(signs, Verdict.ERROR)
    status = _red_status(case)
    if red is not None and not case.proven:
        return case.said(red, red.verdict)
    start = case.start_failure()
    if start is not None and not case.proven and (case.expected or red):
        return case.said(start, start.verdict)
    if status is not None:
        return _by_red_status(case, *status)
    said = _by_other_signs(case, signs)
    if said is not None:
        return said
    return _by_silence(case, signs)


def _red_status(case: Case) -> tuple[Call, int] | None:
    return next(
        (
            (call, code)
            for call in case.running
            if (code := case.statuses.get(call.invocation.position, 0)) != 0
        ),
        None,
    )


def _by_red_status(case: Case, call: Call, status: int) -> RunnerVerdict:
    none = first(case.signs, Verdict.NO_TESTS)
    if none is not None and not abnormal(status):
        return case.said(none, Verdict.NO_TESTS)
    if not case.expected and not abnormal(status):
        return case.silent(Verdict.NOT_A_TEST_RUN, "no words of a test run")
    verdict = red_verdict(status, call)
    visible = case.view.whole and not call.invocation.output_hidden and case.output.last >= 0
    if verdict is Verdict.FAILED and visible and (call.role is Role.RUNNER or call.invocation.guarded):
        # A run with red tests says so; this one ended in another way.
        verdict = Verdict.ERROR
    seen = next((sign.counts for sign in case.signs if sign.counts.shown), None)
    return case.silent(verdict, "exit code of the run", seen)


def _by_other_signs(case: Case, signs: Sequence[Summary]) -> RunnerVerdict | None:
    green, none = first(signs, Verdict.PASSED), first(signs, Verdict.NO_TESTS)
    if green is not None and (case.view.end_seen or case.proven):
        hidden = red_may_be_hidden(case) or any(call.program.has(*IGNORING_FAILURES) for call in case.running)
        if not hidden or case.proven:
            return case.said(green, Verdict.PASSED)
    elif none is not None:
        if case.view.whole:
            return case.said(none, Verdict.NO_TESTS)
        return case.silent(Verdict.UNKNOWN, "only empty parts of a run are seen")
    return None


def _by_silence(case: Case, signs: Sequence[Summary]) -> RunnerVerdict:
    started = first(signs, Verdict.UNKNOWN)
    if case.proven:
        quiet = all(_may_be_quiet(case, call) for call in case.running)
        if quiet or not case.view.end_seen:
            return case.silent(Verdict.PASSED, "exit code of the run")
        return case.silent(Verdict.UNKNOWN, "ended with 0 without its closing words")
    known = [
        code for call in case.running if (code := case.statuses.get(call.invocation.position)) is not None
    ]
    if started is not None and case.view.whole and not known and _visible_end(case):
        return case.said(started, Verdict.ERROR)
    if case.expected or started is not None:
        return case.silent(Verdict.UNKNOWN, "what is seen does not decide")
    return case.silent(Verdict.NOT_A_TEST_RUN, "no words of a test run")


def _visible_end(case: Case) -> bool:
    return not any(call.invocation.output_hidden or call.invocation.errors_hidden for call in case.running)


def _may_be_quiet(case: Case, call: Call) -> bool:
    """Whether a green run may have said nothing that is seen."""
    run = call.invocation
    if run.output_hidden or run.errors_hidden:
        return True
    if call.family is None:
        return False
    return call.family.silent(call.program) or (call.program.has(*_OWN_REPORT) and case.output.last >= 0)
