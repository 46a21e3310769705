"""
The end of a session's log, read while the agent waits: the calls that never ran, of which no hook told.

Copilot writes its log some 0.1 s behind (1.0.102): a call is often not in it yet when its own hook comes. So
what a hook tells of its call stands, and a refused call is found at the next hook, or by the sweep.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.copilot.log_events import records_of
from tokeneconomizer.hosts.records import LoggedCall, LoggedPrompt, LoggedResult
from tokeneconomizer.hosts.steps import call_of
from tokeneconomizer.hosts.tail_lines import object_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import Record

MS_PER_S = 1_000

_REFUSAL_MARKS = (b'"success":false', b'"success": false')
_SERVER_MARK = b'"mcpServerName"'
_LINE_MARKS = (b'"user.message"', b'"assistant.message"', b'"tool.execution_complete"')


def settled(command: HookCommand, transcript_tail: bytes) -> HookCommand:
    """Return the command with the servers of its calls; see `hosts.host.Host.settled`."""
    step = command.step
    if not isinstance(step, ReturnCalls) or not any(call.server for call in step.calls):
        return command
    calls = tuple(_with_server(call, transcript_tail) for call in step.calls)
    return replace(command, step=replace(step, calls=calls))


def _with_server(call: Call, transcript_tail: bytes) -> Call:
    """Return a call with the server that the log names for its tool, where it is there already."""
    if not call.server or _SERVER_MARK not in transcript_tail:
        return call
    named = [
        record.server
        for record in _records(transcript_tail)
        if isinstance(record, LoggedCall) and record.tool == call.tool and record.server
    ]
    return replace(call, server=named[-1]) if named else call


def calls_of_turn(transcript_tail: bytes, prompt_id: str) -> tuple[Call, ...]:
    """
    Return the calls of a turn that never ran; see `hosts.host.Host.calls_of_turn`.

    All others had hooks, which know them by other ids than the log. A prompt's id is the time of its hook; a
    sub-agent's only turn has the id of the sub-agent.
    """
    if not prompt_id or not any(mark in transcript_tail for mark in _REFUSAL_MARKS):
        # Nearly always: then no line need be decoded.
        return ()
    if not (prompt_id.isascii() and prompt_id.isdecimal()):
        own = [record for record in _records(transcript_tail) if _agent_of(record) == prompt_id]
    else:
        own = _of_main_turn(transcript_tail, int(prompt_id) / MS_PER_S)
    asked: dict[str, LoggedCall] = {}
    refused: list[Call] = []
    for record in own:
        if isinstance(record, LoggedCall):
            asked[record.call_id] = record
        elif isinstance(record, LoggedResult) and record.status is CallStatus.NEVER_RAN:
            call = asked.pop(record.call_id, None)
            refused += [call_of(call, record)] if call else []
    return tuple(refused)


def _of_main_turn(transcript_tail: bytes, since_s: float) -> list[Record]:
    """Return what the log has of the main agent from a moment on, up to the prompt after the next one."""
    found: list[Record] = []
    prompts = 0
    for record in _records(transcript_tail):
        if _agent_of(record) or _time_of(record) < since_s:
            continue
        prompts += isinstance(record, LoggedPrompt)
        if prompts > 1:
            break
        found.append(record)
    return found


def _agent_of(record: Record) -> str:
    return str(getattr(record, "agent_id", ""))


def _records(transcript_tail: bytes) -> Iterator[Record]:
    for number, raw in enumerate(transcript_tail.split(b"\n"), start=1):
        line = object_in(raw) if any(mark in raw for mark in _LINE_MARKS) else None
        if line is not None:
            yield from records_of(number, line)


def _time_of(record: Record) -> float:
    at = getattr(record, "at", None)
    return at.timestamp() if isinstance(at, datetime) else 0.0
