"""Differing attempts that all fail in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.finding import Finding
from tokeneconomizer.domain.guard.history import has_green_run

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.history import History
    from tokeneconomizer.domain.guard.limits import Limits


def same_failure(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when differing calls keep failing in the same way.

    Evidence: an equal signature. Progress is a call that failed so and then did not, a green run, or
    something new between each two failures. Targets that all differ are a batch.
    """
    if not newest.failed or not newest.signature_hash or newest.waits:
        return None
    equal = history.attempts(
        newest,
        lambda call: call.failed and call.signature_hash == newest.signature_hash and not call.waits,
        lambda call: _cures(call, newest),
    )
    between = history.between(equal[0], newest)
    worked = any(not call.failed for call in between)
    needed = limits.signature_repeats if worked else limits.signature_repeats_in_a_row
    if len(equal) < needed or len({call.work for call in equal}) == 1 or _is_batch(equal):
        return None
    if has_green_run(between) or _moved(between, equal) or _informs(history, between, len(equal) - 1):
        return None
    return Finding("same_failure", newest, len(equal), len(history.changes(between)))


def edit_refused(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when an edit of one file fails to apply again and again.

    Evidence: refusals of one target, no edit of it applied between; all with an equal signature, or all of
    one kind and one of them sent again word for word.
    """
    if not newest.failed or not newest.is_edit or not newest.signature_hash:
        return None
    refused = history.attempts(
        newest,
        lambda call: call.failed and call.is_edit and _is_same_kind(call, newest),
        lambda call: _cures(call, newest),
    )
    equal = [call for call in refused if call.signature_hash == newest.signature_hash]
    if newest.target_hash and len(equal) >= limits.refused_edits:
        return Finding("edit_refused", newest, len(equal))
    if len(refused) >= limits.refused_edits and len({call.work for call in refused}) < len(refused):
        return Finding("edit_refused", newest, len(refused))
    return None


def _is_same_kind(call: CallRecord, newest: CallRecord) -> bool:
    """Return whether one tool refused both edits of one file, with the same first words."""
    return (call.tool, call.target_hash, call.signature.partition(",")[0]) == (
        newest.tool,
        newest.target_hash,
        newest.signature.partition(",")[0],
    )


def _cures(call: CallRecord, newest: CallRecord) -> bool:
    """Return whether the call did what the newest one failed to do: its refusals before are over."""
    if call.failed:
        return False
    return call.work == newest.work or (
        call.is_edit and newest.is_edit and call.target_hash == newest.target_hash
    )


def _is_batch(equal: list[CallRecord]) -> bool:
    targets = [call.target_hash for call in equal]
    return all(targets) and len(set(targets)) == len(targets)


def _moved(between: list[CallRecord], equal: list[CallRecord]) -> bool:
    """Return whether one of the calls that failed so has succeeded since, or failed otherwise."""
    failing = {call.work for call in equal}
    return any(
        call.work in failing and call.outcome_hash != equal[-1].outcome_hash and call.step > equal[0].step
        for call in between
    )


def _informs(history: History, between: list[CallRecord], gaps: int) -> bool:
    """Return whether something new was told for each gap; that an edit was applied tells nothing."""
    return sum(not call.edits for call in history.news(between)) >= gaps
