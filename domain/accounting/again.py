"""The calls of an ended turn, summed once more from its events."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.accounting.turn import count_call
from tokeneconomizer.domain.guard.turn import TurnState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokeneconomizer.domain.accounting.told import ToldContext

ACCOUNTED = ("turn", "snapshot", "used_tokens", "window_tokens")
"""The fields of an accounted context."""


def told_before(last: Mapping[str, object], told: ToldContext) -> ToldContext:
    """Return what is told now, with the window as it was told before where that is left out."""

    def now_or_before(now: int | None, name: str) -> int | None:
        before = last.get(name)
        return before if now is None and isinstance(before, int) else now

    return replace(
        told,
        used_tokens=now_or_before(told.used_tokens, "used_tokens"),
        window_tokens=now_or_before(told.window_tokens, "window_tokens"),
    )


def turn_again(number: int, events: Iterable[object]) -> tuple[TurnState, dict[str, object]]:
    """Return what a turn invoked, and how it was last accounted, from the events of its session's stream."""
    turn = TurnState(number=number)
    last: dict[str, object] = {}
    called: dict[str, happened.ToolCalled] = {}
    for event in events:
        match event:
            case happened.PromptSubmitted() if event.turn == number:
                turn.is_whole = True
            case happened.ToolCalled() if event.turn == number:
                called[event.call_id] = event
            case happened.ToolReturned() if event.turn == number and event.call_id in called:
                count_call(turn, called.pop(event.call_id), event.output_characters)
            case happened.ContextAccounted() if event.turn == number:
                last = {name: getattr(event, name) for name in ACCOUNTED}
            case _:
                continue
    return turn, last
