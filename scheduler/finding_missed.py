"""What a log tells of a turn and the session's stream lacks: compared when the turn is over on both sides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tokeneconomizer.domain.accounting.snapshot import Kind
from tokeneconomizer.domain.accounting.told import NOTHING_TOLD
from tokeneconomizer.domain.call_ruling import rule_on
from tokeneconomizer.domain.commands import ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.digests import CallStatus, digest_call, stored_call_id
from tokeneconomizer.domain.missed_calls import MissedCall
from tokeneconomizer.domain.session import Session
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.control import MissedCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.accounting.told import ToldContext
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.scheduler.import_turns import Turn
    from tokeneconomizer.scheduler.importing import Ground


HOOKS_WITHOUT_CALL_IDS = frozenset({COPILOT})
"""Their calls are stored under ids that no log has; they tell every call that ran, and no other."""


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
        """Have those calls of a logged turn stored that its session was not told of, and its context."""
        first = turn.steps[0][1]
        if not isinstance(first, SubmitPrompt):
            return
        stream_id = Session.stream_id(turn.key).hex
        rows = [row for row in self._ground.log.stream(stream_id) if isinstance(row, EventRow)]
        opened = _opened_by(rows, first.prompt_id)
        calls = self._missing(turn, {str(row.data["call_id"]) for row in rows if _returned(row)})
        if opened is None or (not calls and _is_told(turn.told, rows, opened.turn)):
            return
        request = MissedCalls(
            host=turn.key.host,
            session_id=turn.key.session_id,
            agent_id=turn.key.agent_id,
            turn=opened.turn,
            opened_version=opened.version,
            at=turn.ended_at,
            calls=calls,
            told=turn.told,
        )
        self._ask(msgspec.to_builtins(request))

    def _missing(self, turn: Turn, returned: set[str]) -> list[MissedCall]:
        steps = [step for _, step in turn.steps if isinstance(step, ReturnCalls)]
        return [
            self._digested(number, call)
            for number, step in enumerate(steps, start=1)
            for call in step.calls
            if stored_call_id(call) not in returned and not _has_a_hook(turn, call)
        ]

    def _digested(self, step: int, call: Call) -> MissedCall:
        ruling = rule_on(call)
        ground = self._ground
        return MissedCall(
            step, digest_call(call, ground.hasher, ground.user_home, is_red=ruling.is_red), ruling
        )


def _has_a_hook(turn: Turn, call: Call) -> bool:
    return turn.key.host in HOOKS_WITHOUT_CALL_IDS and call.status is not CallStatus.NEVER_RAN


class _Opened(NamedTuple):
    """A stored turn, and the version of the event that opened it."""

    turn: int
    version: int


def _opened_by(rows: list[EventRow], prompt_id: str) -> _Opened | None:
    """Return the stored turn that a prompt opened, when it is over."""
    ended = {row.data["turn"] for row in rows if row.topic == "session.turn_ended"}
    for row in rows:
        if row.topic == "session.prompt_submitted" and row.data["prompt_id"] == prompt_id:
            turn = row.data["turn"]
            return _Opened(turn, row.stream_version) if isinstance(turn, int) and turn in ended else None
    return None


def _is_told(told: ToldContext, rows: list[EventRow], number: int) -> bool:
    """Whether the turn's last accounting holds what the log tells of its context."""
    if told == NOTHING_TOLD:
        return True
    last: dict[str, object] = {}
    for row in rows:
        if row.topic == "session.context_accounted" and row.data["turn"] == number:
            last = row.data
    if not last:
        return False
    snapshot = json.loads(str(last["snapshot"]))
    window = ((last["used_tokens"], told.used_tokens), (last["window_tokens"], told.window_tokens))
    return all(now is None or now == before for before, now in window) and (
        "providerBackend" in snapshot,
        Kind.SYSTEM_PROMPT in snapshot["entries"],
    ) == (bool(told.provider), told.prompt_characters is not None)


def _returned(row: EventRow) -> bool:
    return row.topic == "session.tool_returned"
