"""Calls that no hook told, found in the agent's log when their turn was over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext
from tokeneconomizer.domain.call_events import Step, trigger_call
from tokeneconomizer.domain.call_ruling import CallRuling
from tokeneconomizer.domain.commands import Delivery
from tokeneconomizer.domain.digests import CallDigest

if TYPE_CHECKING:
    from datetime import datetime

    from tokeneconomizer.domain.session import Session


class MissedCall(msgspec.Struct, frozen=True):
    """
    One call.

    Attributes:
        step: its number in the turn, as the log shows it.

    """

    step: int
    digest: CallDigest
    ruling: CallRuling


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """
    What an agent's log tells of a turn that is over, and no hook did.

    Attributes:
        number: of the turn.
        at: when it ended.
        calls: those that the session's stream lacks.
        told: of its context.
        opened_version: of the event, in the session's stream, that opened it.

    """

    number: int
    at: datetime
    calls: list[MissedCall]
    told: ToldContext = NOTHING_TOLD
    opened_version: int = 1


def store_missed(session: Session, turn: LoggedTurn) -> int:
    """
    Trigger the events of calls that the session has not; return how many they were.

    Nothing is stored for a turn that is open or unknown: its hooks may still tell.
    """
    if not session.has_ended(turn.number) or turn.number < 1:
        return 0
    unseen = [call for call in turn.calls if not session.has_returned(call.digest.call_id)]
    delivery = Delivery(delivery_id="", at=turn.at)
    for call in unseen:
        trigger_call(
            session, call.digest, call.ruling, delivery, Step(call.step, is_whole=True, turn=turn.number)
        )
    return len(unseen)
