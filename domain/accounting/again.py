"""The calls of an ended turn, summed once more from its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.accounting.turn import count_call
from tokeneconomizer.domain.guard.turn import TurnState

if TYPE_CHECKING:
    from collections.abc import Iterable


def turn_again(number: int, events: Iterable[object]) -> TurnState:
    """Return what a turn invoked, from the events of its session's stream."""
    turn = TurnState(number=number)
    called: dict[str, happened.ToolCalled] = {}
    for event in events:
        match event:
            case happened.PromptSubmitted() if event.turn == number:
                turn.is_whole = True
            case happened.ToolCalled() if event.turn == number:
                called[event.call_id] = event
            case happened.ToolReturned() if event.turn == number and event.call_id in called:
                count_call(turn, called.pop(event.call_id), event.output_characters)
            case _:
                continue
    return turn
