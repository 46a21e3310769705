"""Rounds of several calls that all end as they did before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard.finding import Finding

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.history import History
    from tokeneconomizer.domain.guard.limits import Limits

OTHERS_MAX = 7
"""Calls of one round besides the newest: circles of 2 to 5 are the rule, two recorded ones had 6 and 7."""

ROUNDS_COMPARED = 3
"""The newest call and its last two equals frame the two rounds that are compared."""


def cycle(history: History, newest: CallRecord, limits: Limits) -> Finding | None:
    """
    Fire when a few calls come round and round with the results that they had.

    Evidence: the newest call came before with an equal outcome, and other calls with it in each round. A
    round that brought more new outcomes than old ones, or changed a file, is none.
    """
    if newest.waits:
        return None
    same = history.same(newest)
    if len(same) < max(limits.cycle_rounds, ROUNDS_COMPARED):
        return None
    first, middle = same[-ROUNDS_COMPARED], same[-2]
    earlier_round, last_round = history.between(first, middle), history.between(middle, newest)
    if history.changes([*earlier_round, *last_round]):
        return None
    came_before = _tokens(earlier_round)
    again = _tokens(last_round) & came_before - _tokens([newest])
    new = _tokens(last_round) - _tokens(history.before(middle))
    if not 1 <= len(again) <= OTHERS_MAX or len(new) > len(again):
        return None
    return Finding("cycle", newest, len(same), others=len(again))


def _tokens(calls: list[CallRecord]) -> set[tuple[str, str, str]]:
    return {(*call.work, call.outcome_hash) for call in calls if not call.waits}
