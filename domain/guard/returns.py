"""Back and forth: contents of a file, or failures of a call, that had been left behind come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.finding import Finding
from tokeneconomizer.domain.guard.history import has_green_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.history import History
    from tokeneconomizer.domain.guard.limits import Limits


def back_and_forth(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when a file is changed to contents that it had before, again and again.

    Evidence: the hash of what an edit wrote was seen for this file, with another one between. A green run,
    or a failure that was not seen before, shows that the work moves.
    """
    if not newest.edits or not newest.is_edit or not newest.edit_hash or not newest.target_hash:
        return None
    edits = history.attempts(
        newest,
        lambda call: (
            call.edits
            and call.is_edit
            and call.tool == newest.tool
            and call.target_hash == newest.target_hash
        ),
        lambda call: call.verdict == "passed",
    )
    returns = _returns(edits, lambda call: call.edit_hash)
    if returns < limits.returns or _new_failure(history, edits):
        return None
    return Finding("back_and_forth", newest, returns, len(edits) - 1)


def failures_return(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when edits swap one failure of a call for another and back.

    Evidence: a call's failure was seen before, with another failure of the same call between, and files were
    edited meanwhile; no run was green.
    """
    if not newest.failed or newest.waits:
        return None
    runs = history.attempts(
        newest,
        lambda call: call.work == newest.work and call.failed,
        lambda call: call.work == newest.work and not call.failed,
    )
    returns = _returns(runs, lambda call: call.outcome_hash)
    between = history.between(runs[0], newest)
    edits = len(history.changes(between))
    if returns < limits.returns or not edits or has_green_run(between):
        return None
    return Finding("failures_return", newest, returns, edits)


def _returns(calls: list[CallRecord], state: Callable[[CallRecord], str]) -> int:
    """Return how often a state came back that another one had replaced; the newest has to be such a one."""
    states = [state(call) for call in calls]
    came_back = [
        now in states[:place] and now != states[place - 1] for place, now in enumerate(states) if place
    ]
    return sum(came_back) if came_back and came_back[-1] else 0


def _new_failure(history: History, edits: list[CallRecord]) -> bool:
    """Return whether the last round of edits brought a failure that was not there before."""
    seen = {call.outcome_hash for call in history.before(edits[-2])}
    return any(
        call.failed and call.outcome_hash not in seen for call in history.between(edits[-2], edits[-1])
    )
