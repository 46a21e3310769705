"""The same call with the same outcome, again and again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.finding import Finding
from tokeneconomizer.domain.guard.history import has_green_run

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.history import History
    from tokeneconomizer.domain.guard.limits import Limits


def same_call(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when one call keeps failing in the same way, or keeps telling the same.

    Evidence: equal arguments and an equal outcome, one attempt a step, no other outcome between. A failure
    after something new was tried is worth one more; a green run between is progress. Of what succeeds, only
    attempts count between which nothing new was told.
    """
    same = history.same(newest)
    if newest.waits:
        return _finding("same_call", same, limits.poll_repeats)
    if newest.reads and not newest.failed:
        return None
    if not newest.failed:
        idle = _after_idle_gaps(history, _since_last_edit(history, same))
        return _finding("same_call", idle, limits.same_result_repeats)
    between = history.between(same[0], newest)
    edits = len(history.changes(between))
    if newest.lies_in_the_machine:
        return _finding("same_call", same, limits.failed_repeats)
    if has_green_run(between):
        return None
    tried = edits + sum(call.kind == "shell" for call in history.news(between))
    needed = limits.failed_repeats_with_edits if tried else limits.failed_repeats
    return _finding("same_call", same, needed, edits)


def same_read(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when the same unchanged thing is read again.

    Evidence: equal arguments, line ranges and queries included, and an equal result, nothing edited between.
    """
    if not newest.reads or newest.failed or newest.waits:
        return None
    return _finding("same_read", _since_last_edit(history, history.same(newest)), limits.same_read_repeats)


def _since_last_edit(history: History, same: list[CallRecord]) -> list[CallRecord]:
    """Return the attempts after the last edit: what is repeated after one checks it, and is no circle."""
    newest = same[-1]
    edited = [call.step for call in history.changes(history.between(same[0], newest))]
    return [call for call in same if call.step > edited[-1]] if edited else same


def _after_idle_gaps(history: History, same: list[CallRecord]) -> list[CallRecord]:
    """Return the attempts before which nothing new was told: a look between two pieces of work is a habit."""
    idle = [call for before, call in pairwise(same) if not history.news(history.between(before, call))]
    return [same[0], *idle] if idle and idle[-1] is same[-1] else [same[-1]]


def _finding(rule: str, same: list[CallRecord], needed: int, edits: int = 0) -> Finding | None:
    return Finding(rule, same[-1], len(same), edits) if len(same) >= needed else None
