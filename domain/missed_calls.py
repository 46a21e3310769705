"""Calls that no hook told, found in the agent's log when their turn was over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

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


def store_missed(session: Session, turn: int, calls: list[MissedCall], at: datetime) -> int:
    """
    Trigger the events of calls that the session has not; return how many they were.

    Nothing is stored for a turn that is open or unknown: its hooks may still tell.
    """
    if not session.has_ended(turn) or turn < 1:
        return 0
    unseen = [call for call in calls if not session.has_returned(call.digest.call_id)]
    delivery = Delivery(delivery_id="", at=at)
    for call in unseen:
        trigger_call(session, call.digest, call.ruling, delivery, Step(call.step, is_whole=True, turn=turn))
    return len(unseen)
