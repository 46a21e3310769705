"""From what the rules find to what is said: at most two redirects a turn, then one hint to the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.guard import limits as bounds
from tokeneconomizer.domain.guard.finding import Finding
from tokeneconomizer.domain.guard.rules import find

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord
    from tokeneconomizer.domain.guard.limits import Limits
    from tokeneconomizer.domain.guard.turn import RedirectRecord, TurnState


@dataclass(frozen=True, slots=True)
class Redirect:
    """Say one line to the model."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class Hint:
    """Tell the user that the turn stays stuck after a redirect."""

    call: CallRecord
    redirect: RedirectRecord
    occurrences: int


def decide(turn: TurnState, limits: Limits) -> Redirect | Hint | None:
    """Return what the newest step of the turn calls for, or None."""
    return _hint(turn) or _redirect(turn, limits)


def _hint(turn: TurnState) -> Hint | None:
    if turn.hint_version or not turn.redirects:
        return None
    for redirect in turn.redirects:
        again = [call for call in _newest_step(turn) if call.evidence_hash == redirect.evidence_hash]
        if again and again[-1].number - redirect.call_number >= bounds.CALLS_BEFORE_HINT:
            occurrences = sum(call.evidence_hash == redirect.evidence_hash for call in turn.window)
            return Hint(again[-1], redirect, occurrences)
    return None


def _redirect(turn: TurnState, limits: Limits) -> Redirect | None:
    if len(turn.redirects) >= bounds.REDIRECTS_PER_TURN:
        return None
    if turn.redirects and turn.calls - turn.redirects[-1].call_number < bounds.CALLS_BETWEEN_REDIRECTS:
        return None
    spent = {redirect.evidence_hash for redirect in turn.redirects}
    for finding in [*find(turn.window, limits), *_undelivered(turn)]:
        if finding.evidence_hash not in spent:
            return Redirect(finding)
    return None


def _undelivered(turn: TurnState) -> list[Finding]:
    """Return the redirect that never arrived, to ride on the newest result, while its call is remembered."""
    lost = turn.undelivered
    if lost is None:
        return []
    calls = [call for call in turn.window if call.evidence_hash == lost.evidence_hash]
    return [Finding(lost.rule, calls[-1], lost.occurrences, edits_between=0)] if calls else []


def _newest_step(turn: TurnState) -> list[CallRecord]:
    step = turn.window[-1].step if turn.window else 0
    return [call for call in turn.window if call.step == step]
