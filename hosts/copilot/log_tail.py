"""
The end of a session's log, read while the agent waits: the calls that never ran, of which no hook told.

Copilot writes its log some 0.1 s behind (1.0.102): a call is often not in it yet when its own hook comes. So
what a hook tells of its call stands, and a refused call is found at the next hook, or by the sweep.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.commands import EndTurn, ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.copilot.log_events import records_of
from tokeneconomizer.hosts.records import LoggedCall, LoggedPrompt, LoggedResult
from tokeneconomizer.hosts.steps import call_of

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
    """
    Return the command with the turn's calls that never ran, and with the servers of its calls.

    See `hosts.host.Host.settled`.
    """
    if not isinstance(command.step, ReturnCalls | EndTurn):
        return command
    refused = _refused(transcript_tail, command.key.agent_id)
    settled_command = replace(command, cut_off=refused) if refused else command
    if not isinstance(command.step, ReturnCalls) or not any(call.server for call in command.step.calls):
        return settled_command
    calls = tuple(_with_server(call, transcript_tail) for call in command.step.calls)
    return replace(settled_command, step=replace(command.step, calls=calls))


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
    Return the calls that never ran since a prompt; see `hosts.host.Host.calls_of_turn`.

    All others had hooks, which know them by other ids than the log. A prompt's id is the time of its hook.
    """
    if not prompt_id.isdecimal():
        return ()
    return _refused(transcript_tail, "", since_s=int(prompt_id) / MS_PER_S)


def _refused(transcript_tail: bytes, agent_id: str, since_s: float = 0.0) -> tuple[Call, ...]:
    """Return the refused calls of an agent's last turn in the tail, or since a moment."""
    if not any(mark in transcript_tail for mark in _REFUSAL_MARKS):
        # Nearly always: then no line need be decoded.
        return ()
    asked: dict[str, LoggedCall] = {}
    refused: list[Call] = []
    for record in _records(transcript_tail):
        if getattr(record, "agent_id", "") != agent_id or _time_of(record) < since_s:
            continue
        if isinstance(record, LoggedPrompt) and not since_s:
            asked, refused = {}, []
        elif isinstance(record, LoggedCall):
            asked[record.call_id] = record
        elif isinstance(record, LoggedResult) and record.status is CallStatus.NEVER_RAN:
            call = asked.pop(record.call_id, None)
            refused += [call_of(call, record)] if call else []
    return tuple(refused)


def _records(transcript_tail: bytes) -> Iterator[Record]:
    for number, raw in enumerate(transcript_tail.split(b"\n"), start=1):
        if not any(mark in raw for mark in _LINE_MARKS):
            continue
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            continue
        if isinstance(line, dict):
            yield from records_of(number, line)


def _time_of(record: Record) -> float:
    at = getattr(record, "at", None)
    return at.timestamp() if isinstance(at, datetime) else 0.0
