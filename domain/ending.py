"""How a turn and a silent session end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.accounting.again import told_before, turn_again
from tokeneconomizer.domain.accounting.snapshot import Kind, entry_in
from tokeneconomizer.domain.digests import stored_snapshot
from tokeneconomizer.domain.labels import label

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from tokeneconomizer.domain.accounting.turn import Accounting
    from tokeneconomizer.domain.guard.turn import TurnState
    from tokeneconomizer.domain.session import Session


def archive_silent(session: Session, at: datetime, accounting: Accounting | None = None) -> None:
    """Archive a session of which nothing was heard for long; a turn that is still open ends first."""
    end_turn(session, "no_stop", at, "", accounting)
    session.trigger_event(happened.SessionArchived, timestamp=at, delivery_id="", reason="silence")


def end_turn(
    session: Session, reason: str, at: datetime, delivery_id: str, accounting: Accounting | None = None
) -> None:
    """End the turn if one is open, and store what entered its context where it is to be accounted."""
    turn = session.turn
    if not turn.is_open:
        return
    elapsed_s = max(0.0, at.timestamp() - turn.started_at)
    session.trigger_event(
        happened.TurnEnded,
        timestamp=at,
        delivery_id=delivery_id,
        turn=turn.number,
        prompt_id=turn.prompt_id,
        reason=label(reason),
        outcome=turn.outcome,
        calls=turn.calls,
        failures=turn.failures,
        edits=turn.edits,
        steps=turn.steps,
        duration_ms=round(elapsed_s * 1000),
        written=list(turn.written),
    )
    if accounting is not None:
        fields = _accounted(session, turn, accounting)
        if fields:
            session.trigger_event(happened.ContextAccounted, timestamp=at, delivery_id=delivery_id, **fields)


def account_again(
    session: Session, number: int, at: datetime, accounting: Accounting, events: Iterable[object]
) -> None:
    """
    Store the context of an ended turn anew, from all its events, where it comes to something else now.

    Calls were found that no hook told, or the agent's log tells more of it. Rules stay as they were measured,
    and so does what the agent told of its window where its log does not.
    """
    turn, last = turn_again(number, events)
    rules = entry_in(str(last["snapshot"]), Kind.RULES) if last else None
    told = told_before(last, accounting.told)
    fields = _accounted(session, turn, replace(accounting, as_of=at, rules=rules, told=told))
    if fields and last != fields:
        session.trigger_event(happened.ContextAccounted, timestamp=at, delivery_id="", **fields)


def _accounted(session: Session, turn: TurnState, accounting: Accounting) -> dict[str, Any]:
    """Return the fields of the event; none where the session's host supplies nothing."""
    snapshot = accounting.of_turn(session, turn)
    if snapshot is None:
        return {}
    return {
        "turn": turn.number,
        "snapshot": stored_snapshot(snapshot),
        "used_tokens": accounting.told.used_tokens,
        "window_tokens": accounting.told.window_tokens,
    }
