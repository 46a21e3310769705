"""
The last lines of a rollout, read while the agent waits.

How the newest commands ended stands there before their hook runs, and what has no hook before the next one
does (0.171.0 and 0.164.0). A tail may begin anywhere: its lines are read without what stood before them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ReturnCalls
from tokeneconomizer.hosts.codex.log_calls import NESTED_PREFIX, CallReader
from tokeneconomizer.hosts.codex.log_records import RecordReader
from tokeneconomizer.hosts.codex.log_state import RolloutState
from tokeneconomizer.hosts.codex.log_thread import TURN_STARTS, Thread
from tokeneconomizer.hosts.fields import mapping, text
from tokeneconomizer.hosts.records import LoggedCall, LoggedResult, LoggedStep
from tokeneconomizer.hosts.steps import call_of, steps_of
from tokeneconomizer.hosts.tail_lines import from_the_line_that_names, lines_from_the_end, object_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import Record

_ENDED = (b'"item_completed"', b'_end"')
"""Stands in each event that tells how a call ended, of newer and of older versions."""


def settled(command: HookCommand, transcript_tail: bytes) -> HookCommand:
    """
    Return the command with what the rollout tells of its call; see `hosts.host.Host.settled`.

    Calls of the same reply that are back belong to the step as well, and it is whole when none is awaited.
    """
    step = command.step
    if not isinstance(step, ReturnCalls):
        return command
    results = _results(transcript_tail, {call.call_id for call in step.calls})
    calls = tuple(_settled_call(call, results.get(call.call_id)) for call in step.calls)
    siblings, is_awaited = _beside(calls[0].call_id, transcript_tail, command.running_turn)
    settled_step = ReturnCalls((*siblings, *calls), whole_step=not is_awaited)
    return command if settled_step == step else replace(command, step=settled_step)


def _beside(call_id: str, transcript_tail: bytes, turn_id: str) -> tuple[tuple[Call, ...], bool]:
    """Return the calls of the same reply that are back, and whether others are awaited."""
    asked: dict[str, LoggedCall] = {}
    back: dict[str, LoggedResult] = {}
    for record in _records(transcript_tail, turn_id):
        if isinstance(record, LoggedCall):
            asked[record.call_id] = record
        elif isinstance(record, LoggedResult):
            back[record.call_id] = record
    own = asked.pop(call_id, None)
    # What a script calls runs one after the other, as far as anyone can tell.
    if own is None or call_id.startswith(NESTED_PREFIX):
        return (), False
    others = [call for call in asked.values() if call.step == own.step]
    ended = [call for call in others if call.call_id in back and not back[call.call_id].goes_on]
    is_awaited = any(call.call_id not in back for call in others)
    return tuple(call_of(call, back[call.call_id]) for call in ended), is_awaited


def _settled_call(call: Call, result: LoggedResult | None) -> Call:
    if result is None:
        return call
    return replace(
        call,
        # Of a long command the hook has the last piece, of a large output its beginning.
        output=result.text or call.output,
        status=result.status,
        exit_code=result.exit_code,
        interrupted=result.interrupted,
        duration_ms=result.duration_ms,
    )


def _results(transcript_tail: bytes, call_ids: set[str]) -> dict[str, LoggedResult]:
    """Return what the newest events tell of these calls."""
    results: dict[str, LoggedResult] = {}
    names = [call_id.encode(errors="surrogatepass") for call_id in call_ids]
    for raw in lines_from_the_end(transcript_tail):
        if len(results) == len(call_ids):
            break
        # Searching the bytes first keeps lines that do not matter from being decoded.
        if not (any(name in raw for name in names) and any(mark in raw for mark in _ENDED)):
            continue
        event = mapping(object_in(raw) or {}, "payload")
        for record in CallReader(RolloutState()).ended(0, None, mapping(event, "item") or event):
            if isinstance(record, LoggedResult) and record.call_id in call_ids:
                results.setdefault(record.call_id, record)
    return results


def calls_of_turn(transcript_tail: bytes, prompt_id: str) -> tuple[Call, ...]:
    """Return the calls with results of one turn; see `hosts.host.Host.calls_of_turn`."""
    steps = steps_of(_records(transcript_tail, prompt_id))
    return tuple(call for step in steps if isinstance(step, LoggedStep) for call in step.calls)


def _records(transcript_tail: bytes, turn_id: str) -> Iterator[Record]:
    """Yield the records of a turn, from a line in the midst of it to the beginning of another one."""
    # Nearly each line of a turn names it; nothing before the first one need be decoded.
    lines = from_the_line_that_names(transcript_tail, turn_id)
    state = RolloutState(is_copy=False, turn_id=turn_id)
    reader = RecordReader(state, Thread(state))
    for number, raw in enumerate(lines.split(b"\n"), start=1):
        line = object_in(raw) or {}
        payload = mapping(line, "payload")
        starts_turn = text(line, "type") == "turn_context" or text(payload, "type") in TURN_STARTS
        if starts_turn and text(payload, "turn_id") != turn_id:
            return
        if text(line, "type") != "session_meta":
            yield from reader.read(number, line)
