"""All that is known of a command's runs, and how a verdict is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts import starting
from tokeneconomizer.domain.verdicts.calls import Role
from tokeneconomizer.domain.verdicts.model import Counts, RunnerVerdict, Summary, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.evidence import Evidence
    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.views import View


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of a command's runs."""

    calls: Sequence[Call]
    evidence: Evidence
    view: View
    statuses: Mapping[int, int]
    output: Output

    @property
    def running(self) -> list[Call]:
        """The calls that run tests, or may."""
        return [call for call in self.calls if call.role in {Role.RUNNER, Role.WRAPPER}]

    @property
    def runs(self) -> list[Call]:
        """The calls that are test runners."""
        return [call for call in self.calls if call.role is Role.RUNNER]

    @property
    def expected(self) -> bool:
        """Whether a test run is what was asked for."""
        return any(call.testing for call in self.running)

    @property
    def framework(self) -> str | None:
        """The framework that was called, where no words name one."""
        return next((call.family.name for call in self.runs if call.family), None)

    @property
    def proven(self) -> bool:
        """Whether each run is known to have ended with exit code 0."""
        codes = [self.statuses.get(call.invocation.position) for call in self.running]
        return bool(self.runs) and all(code == 0 for code in codes)

    @property
    def finals(self) -> list[Summary]:
        """The closing words of the runs."""
        return [summary for _, summary in self.evidence.finals]

    @property
    def signs(self) -> list[Summary]:
        """What counts where closing words are missing."""
        return [sign for _, sign in self.evidence.signs]

    def start_failure(self) -> Summary | None:
        """Return the words of a run that never came to its tests."""
        found = starting.summaries(self.output)
        if found:
            return found[0]
        return starting.uncaught(self.output) if self.view.end_seen else None

    def said(self, summary: Summary, verdict: Verdict, rule: str = "") -> RunnerVerdict:
        """Return the verdict that a line of the output gives."""
        framework = summary.framework if summary.framework != starting.NAME else self.framework
        counts = Counts() if verdict is Verdict.NOT_A_TEST_RUN else self._counts(summary)
        return self._result(verdict, framework, counts, rule or summary.rule, summary.line)

    def silent(self, verdict: Verdict, rule: str, counts: Counts | None = None) -> RunnerVerdict:
        """Return a verdict that no line of the output gives."""
        return self._result(verdict, self.framework, counts or Counts(), rule, None)

    def _counts(self, summary: Summary) -> Counts:
        """Return the printed numbers, unless several summaries would have to be added up."""
        shown = list({final.line: final for final in self.finals if final.counts.shown}.values())
        if len(shown) == 1:
            return shown[0].counts
        return Counts() if shown else summary.counts

    def _result(
        self, verdict: Verdict, framework: str | None, counts: Counts, rule: str, line: int | None
    ) -> RunnerVerdict:
        executed = bool(counts.passed or counts.failed)
        ran = verdict in {Verdict.PASSED, Verdict.FAILED} or (verdict is Verdict.ERROR and executed)
        if verdict is Verdict.UNKNOWN:
            ran = bool(self.runs)
        numbers = (counts.passed, counts.failed, counts.errors, counts.skipped)
        return RunnerVerdict(verdict, framework, ran, *numbers, rule, line)


def first(summaries: Sequence[Summary], verdict: Verdict) -> Summary | None:
    """Return the first summary of a verdict."""
    return next((summary for summary in summaries if summary.verdict is verdict), None)


def last(summaries: Sequence[Summary], verdict: Verdict) -> Summary | None:
    """Return the last summary of a verdict."""
    return next((summary for summary in reversed(summaries) if summary.verdict is verdict), None)
