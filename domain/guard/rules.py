"""
The rules that see a turn going in circles.

Each looks at the newest step only, finds its equals in the window, and says with which evidence they repeat.
A rule that does not fire returns None. Calls side by side in one step are one attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.guard.limits import Limits
    from tokeneconomizer.domain.guard.turn import CallRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule fired: on which call, for which evidence, after how many equal attempts."""

    rule: str
    call: CallRecord
    occurrences: int
    edits_between: int

    @property
    def evidence(self) -> str:
        """The words that may be shown: the failure's masked signature, else the tool."""
        return self.call.signature or self.call.tool

    @property
    def evidence_hash(self) -> str:
        """What has to hold again for the turn to be called stuck."""
        return self.call.evidence_hash


def same_call_same_result(window: Sequence[CallRecord], newest: CallRecord, limits: Limits) -> Finding | None:
    """Fire when one call, with the same arguments, keeps giving the same result."""
    equal = _attempts(
        window,
        newest,
        limits.span_calls,
        lambda call: (
            call.tool == newest.tool
            and call.arguments_hash == newest.arguments_hash
            and call.status == newest.status
            and call.result_hash == newest.result_hash
        ),
    )
    edits = _edits_since(window, equal[0], newest)
    if edits and not newest.failed:
        # Repeated after an edit and successful: that checks the edit, it is work and no circle.
        return None
    if len(equal) < _repeats_needed(newest, edits, limits):
        return None
    return Finding("same_call", newest, len(equal), edits)


def same_failure(window: Sequence[CallRecord], newest: CallRecord, limits: Limits) -> Finding | None:
    """Fire when differing calls keep failing in the same way, and nothing they did changed that."""
    if not newest.failed or not newest.signature_hash or newest.waits:
        return None
    equal = _attempts(
        window,
        newest,
        limits.span_calls,
        lambda call: call.failed and call.signature_hash == newest.signature_hash,
    )
    on_one_target = bool(newest.target_hash) and all(c.target_hash == newest.target_hash for c in equal)
    needed = limits.failed_repeats if on_one_target else limits.signature_repeats
    edits = _edits_since(window, equal[0], newest)
    if len(equal) < needed or (not on_one_target and _made_progress(window, equal[0], newest)):
        return None
    return Finding("same_failure", newest, len(equal), edits)


RULES: tuple[Callable[[Sequence[CallRecord], CallRecord, Limits], Finding | None], ...] = (
    same_call_same_result,
    same_failure,
)


def find(window: Sequence[CallRecord], limits: Limits) -> list[Finding]:
    """Return what the rules say about the newest step, the most repeated first."""
    if not window:
        return []
    step = window[-1].step
    newest = [call for call in window if call.step == step]
    findings = [finding for call in newest for rule in RULES if (finding := rule(window, call, limits))]
    return sorted(findings, key=lambda finding: -finding.occurrences)


def _repeats_needed(newest: CallRecord, edits: int, limits: Limits) -> int:
    if newest.waits:
        return limits.poll_repeats
    if newest.failed:
        return limits.failed_repeats_with_edits if edits else limits.failed_repeats
    return limits.same_result_repeats


def _attempts(
    window: Sequence[CallRecord], newest: CallRecord, span: int, is_equal: Callable[[CallRecord], bool]
) -> list[CallRecord]:
    """Return one equal call per step, oldest first, each within `span` calls of the next."""
    found = [newest]
    for call in reversed(window):
        if found[-1].number - call.number > span:
            break
        if call.step != found[-1].step and is_equal(call):
            found.append(call)
    return found[::-1]


def _edits_since(window: Sequence[CallRecord], first: CallRecord, last: CallRecord) -> int:
    return sum(call.edits for call in window if first.step < call.step < last.step)


def _made_progress(window: Sequence[CallRecord], first: CallRecord, last: CallRecord) -> bool:
    """Return whether a call that failed like the first one has succeeded, or failed otherwise, since."""
    failing = {call.arguments_hash for call in window if call.evidence_hash == last.evidence_hash}
    return any(
        call.arguments_hash in failing and call.evidence_hash != last.evidence_hash
        for call in window
        if first.step < call.step <= last.step
    )
