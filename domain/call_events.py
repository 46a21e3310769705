"""The two events of one call: the model asked for it, and the tool came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened

if TYPE_CHECKING:
    from tokeneconomizer.domain.call_ruling import CallRuling
    from tokeneconomizer.domain.commands import Delivery
    from tokeneconomizer.domain.digests import CallDigest
    from tokeneconomizer.domain.session import Session


def trigger_call(
    session: Session,
    digest: CallDigest,
    ruling: CallRuling,
    delivery: Delivery,
    *,
    step: int,
    whole_step: bool,
) -> None:
    """Trigger both events; a call that finds no turn open begins one."""
    common = {
        "timestamp": delivery.at,
        "delivery_id": delivery.delivery_id,
        "turn": session.turn.number if session.turn.is_open else session.turn.number + 1,
        "call_id": digest.call_id,
        "agent_id": session.agent_id,
    }
    session.trigger_event(
        happened.ToolCalled,
        **common,
        step=step,
        whole_step=whole_step,
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
