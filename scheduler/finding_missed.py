"""Which calls of a logged turn the session's stream lacks: compared when the turn is over on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.call_ruling import rule_on
from tokeneconomizer.domain.commands import ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.digests import digest_call, stored_call_id
from tokeneconomizer.domain.missed_calls import MissedCall
from tokeneconomizer.domain.session import Session
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.control import MissedCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.scheduler.import_turns import Turn
    from tokeneconomizer.scheduler.importing import Ground


class MissedCallsOfTurn:
    """
    Has the missing calls of turns stored.

    Args:
        ground: the store, to read.
        ask: sends a command to whoever may write events.

    """

    def __init__(self, ground: Ground, ask: Callable[[Mapping[str, object]], Mapping[str, object]]) -> None:
        self._ground = ground
        self._ask = ask

    def store(self, turn: Turn) -> None:
        """Have those calls of a logged turn stored that its session was not told of."""
        first = turn.steps[0][1]
        if not isinstance(first, SubmitPrompt):
            return
        stream_id = Session.stream_id(turn.key).hex
        rows = [row for row in self._ground.log.stream(stream_id) if isinstance(row, EventRow)]
        number = _number_of(rows, first.prompt_id)
        calls = self._missing(turn, {str(row.data["call_id"]) for row in rows if _returned(row)})
        if number is None or not calls:
            return
        request = MissedCalls(
            host=turn.key.host,
            session_id=turn.key.session_id,
            agent_id=turn.key.agent_id,
            turn=number,
            at=turn.steps[-1][0],
            calls=calls,
        )
        self._ask(msgspec.to_builtins(request))

    def _missing(self, turn: Turn, returned: set[str]) -> list[MissedCall]:
        steps = [step for _, step in turn.steps if isinstance(step, ReturnCalls)]
        return [
            self._digested(number, call)
            for number, step in enumerate(steps, start=1)
            for call in step.calls
            if stored_call_id(call) not in returned
        ]

    def _digested(self, step: int, call: Call) -> MissedCall:
        ruling = rule_on(call)
        ground = self._ground
        return MissedCall(
            step, digest_call(call, ground.hasher, ground.user_home, is_red=ruling.is_red), ruling
        )


def _number_of(rows: list[EventRow], prompt_id: str) -> int | None:
    """Return the stored turn that a prompt opened, when it is over."""
    ended = {row.data["turn"] for row in rows if row.topic == "session.turn_ended"}
    for row in rows:
        if row.topic == "session.prompt_submitted" and row.data["prompt_id"] == prompt_id:
            turn = row.data["turn"]
            return turn if isinstance(turn, int) and turn in ended else None
    return None


def _returned(row: EventRow) -> bool:
    return row.topic == "session.tool_returned"
