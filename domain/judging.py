"""What the judge's part in a session leaves there: that it was asked, and what it said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.guard.judge import digest_of
from tokeneconomizer.domain.labels import label

if TYPE_CHECKING:
    from datetime import datetime

    from tokeneconomizer.domain.guard.judge import Verdict
    from tokeneconomizer.domain.session import Session


@dataclass(frozen=True, slots=True)
class Case:
    """
    A turn that the judge may be asked about.

    Attributes:
        asked_before: how often it was asked in the session.
        digest: all that it is told.

    """

    host: str
    repository: str
    turn: int
    asked_before: int
    digest: str


def case_of(session: Session) -> Case | None:
    """Return the open turn as a case; None when it is over, never passed the gate, or was asked about."""
    turn = session.turn
    if not turn.is_open or not turn.is_gated or turn.is_asked_about:
        return None
    digest = digest_of(turn, session.limits)
    return Case(session.host, session.repository, turn.number, session.judge_calls, digest)


def ask(session: Session, case: Case, side_call_id: str, at: datetime) -> None:
    """Store that the judge is asked."""
    session.trigger_event(
        happened.JudgeAsked,
        timestamp=at,
        delivery_id="",
        turn=case.turn,
        side_call_id=side_call_id,
        digest_characters=len(case.digest),
    )


def give_verdict(
    session: Session, case: Case, side_call_id: str, verdict: Verdict, model: str, at: datetime
) -> None:
    """Store what the judge said; a turn that is still open hears of it beside its next result."""
    session.trigger_event(
        happened.VerdictGiven,
        timestamp=at,
        delivery_id="",
        turn=case.turn,
        side_call_id=side_call_id,
        verdict=verdict.verdict,
        confidence=verdict.confidence,
        model=label(model),
    )
