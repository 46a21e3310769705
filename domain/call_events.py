"""The two events of one call: the model asked for it, and the tool came back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened

if TYPE_CHECKING:
    from tokeneconomizer.domain.call_ruling import CallRuling
    from tokeneconomizer.domain.commands import Delivery
    from tokeneconomizer.domain.digests import CallDigest
    from tokeneconomizer.domain.session import Session


@dataclass(frozen=True, slots=True)
class Step:
    """
    The step that a call belongs to.

    Attributes:
        number: counted in the turn from 1.
        is_whole: whether the call comes together with all calls of its step.
        turn: None for the turn that is open.

    """

    number: int
    is_whole: bool
    turn: int | None = None


def trigger_call(
    session: Session,
    digest: CallDigest,
    ruling: CallRuling,
    delivery: Delivery,
    step: Step,
) -> None:
    """Trigger both events; a call that finds no turn open begins one, unless its turn is named."""
    open_turn = session.turn.number if session.turn.is_open else session.turn.number + 1
    common = {
        "timestamp": delivery.at,
        "delivery_id": delivery.delivery_id,
        "turn": open_turn if step.turn is None else step.turn,
        "call_id": digest.call_id,
        "agent_id": session.agent_id,
    }
    session.trigger_event(
        happened.ToolCalled,
        **common,
        step=step.number,
        whole_step=step.is_whole,
        tool=digest.tool,
        kind=digest.kind,
        server=digest.server,
        target=digest.target,
        target_hash=digest.target_hash,
        command=digest.command,
        command_template=digest.command_template,
        input_characters=digest.input_characters,
        arguments_hash=digest.arguments_hash,
        edit_hash=digest.edit_hash,
        background=digest.background,
    )
    session.trigger_event(
        happened.ToolReturned,
        **common,
        status=digest.status,
        exit_code=digest.exit_code,
        interrupted=digest.interrupted,
        duration_ms=digest.duration_ms,
        output_characters=digest.output_characters,
        result_hash=digest.result_hash,
        signature=digest.signature,
        signature_hash=digest.signature_hash,
        verdict=ruling.verdict,
        verdict_rule=ruling.rule,
        verdict_version=ruling.version,
        written=list(ruling.written),
    )
