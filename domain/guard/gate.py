"""
The gate: a turn far outside what green turns take, of which nothing shows that it moves.

It says nothing to anyone; it is an event, and the only way to the judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.history import has_green_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.limits import Limits
    from tokeneconomizer.domain.guard.turn import TurnState

CALLS_LOOKED_AT = 16
"""As far back as two occurrences of one circle may lie apart; with fewer one hard test looks like a halt."""

CALLS_NEEDED = 8
"""Fewer calls that do not wait tell nothing of a turn's way."""

SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Outside:
    """What is far outside: as in GateFired."""

    measure: str
    value: float
    limit: float


def far_outside(turn: TurnState, limits: Limits, at: float) -> Outside | None:
    """Return what the turn has too much of at that time, once it does not move; None while all is well."""
    measures = (
        Outside("calls", turn.calls, limits.gate_calls),
        Outside("failures", turn.failures, limits.gate_failures),
        Outside("edits", turn.edits, limits.gate_edits),
        Outside("minutes", round((at - turn.started_at) / SECONDS_PER_MINUTE, 1), limits.gate_minutes),
    )
    found = next((measure for measure in measures if measure.value > measure.limit), None)
    return None if found is None or moves(turn.window) else found


def moves(window: Sequence[CallRecord]) -> bool:
    """
    Return whether the newest calls show progress.

    That is a green run among them, or something new from more than half of those that do not wait: a result
    or a failure that was not there before, or an edit that was not made before. Too few calls count as
    progress.
    """
    seen: set[tuple[str, ...]] = set()
    news: list[bool] = []
    for call in window:
        token = _what_it_tells(call)
        if not call.waits:
            news.append(token not in seen)
        seen.add(token)
    newest = news[-CALLS_LOOKED_AT:]
    if len(newest) < CALLS_NEEDED or 2 * sum(newest) > len(newest):
        return True
    return has_green_run(window[-CALLS_LOOKED_AT:])


def _what_it_tells(call: CallRecord) -> tuple[str, ...]:
    if call.failed:
        return "failure", call.outcome_hash
    return ("edit", *call.work) if call.edits else ("result", call.result_hash)
