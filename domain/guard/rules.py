"""
The rules that see a turn going in circles.

Each is a function of a module of this package: it looks at a call of the newest step, finds what came before
it, and says with which evidence it repeats. A rule that does not fire returns None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.circles import cycle
from tokeneconomizer.domain.guard.failures import edit_refused, same_failure
from tokeneconomizer.domain.guard.history import History
from tokeneconomizer.domain.guard.repeats import same_call, same_read
from tokeneconomizer.domain.guard.returns import back_and_forth, failures_return

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.finding import Finding
    from tokeneconomizer.domain.guard.limits import Limits

RULES: dict[str, Callable[[History, CallRecord, Limits], Finding | None]] = {
    "edit_refused": edit_refused,
    "same_call": same_call,
    "same_read": same_read,
    "same_failure": same_failure,
    "cycle": cycle,
    "back_and_forth": back_and_forth,
    "failures_return": failures_return,
}
"""By the names that events, settings and texts have for them; of two that see the same the first speaks."""

CALLS_JUDGED_MAX = 8
"""Of a step with more different calls side by side the last ones: a circle is not as wide."""


def find(window: Sequence[CallRecord], limits: Limits) -> list[Finding]:
    """Return what the rules say about the newest step, the most repeated first."""
    if not window:
        return []
    history = History(window, limits.span_calls)
    step = window[-1].step
    newest = {(call.work, call.evidence_hash): call for call in window if call.step == step}
    findings = [
        finding
        for call in list(newest.values())[-CALLS_JUDGED_MAX:]
        for name, rule in RULES.items()
        if limits.has(name) and (finding := rule(history, call, limits))
    ]
    return sorted(findings, key=lambda finding: -finding.occurrences)
