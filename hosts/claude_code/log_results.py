"""What Claude Code's lines say of calls: those that a model asked for, and how they came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.claude_code import tools
from tokeneconomizer.hosts.claude_code.payload import exit_code_in, never_ran, text_of_result
from tokeneconomizer.hosts.fields import flag, mapping, number, text, whole_number
from tokeneconomizer.hosts.records import LoggedCall, LoggedResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

USER_STOPPED_PREFIX = "The user doesn't want to "
"""The result of a call that the user refused, or cut off while it ran: the log does not tell which."""

_DURATIONS_MS = ("durationMs", "totalDurationMs")


def call_in(
    block: Mapping[str, object], line: int, at: datetime | None, step: str, agent_id: str
) -> LoggedCall | None:
    """Return the call that a block of a reply asks for; None for another block."""
    tool, call_id = text(block, "name"), text(block, "id")
    if text(block, "type") != "tool_use" or not tool or not call_id:
        return None
    arguments, kind = mapping(block, "input"), tools.kind_of(tool)
    return LoggedCall(
        line=line,
        at=at,
        step=step,
        call_id=call_id,
        tool=tool,
        kind=kind,
        arguments=arguments,
        server=tools.server_of(tool),
        command=text(arguments, "command") if kind is CallKind.SHELL else "",
        target=tools.target_of(arguments),
        edited=tools.edited_by(tool, arguments),
        background=flag(arguments, "run_in_background") is True,
        agent_id=agent_id,
    )


def result_in(
    block: Mapping[str, object],
    structured: Mapping[str, object],
    line: int,
    at: datetime | None,
    *,
    agent_id: str,
    is_shell: bool,
) -> LoggedResult:
    """Return how a call came back; `structured` is the line's own account of it."""
    output = text_of_result(block.get("content"))
    status = status_of(block, output)
    exit_code = exit_code_in(output) if status is CallStatus.FAILED else None
    return LoggedResult(
        line=line,
        at=at,
        call_id=text(block, "tool_use_id"),
        text=output,
        status=status,
        exit_code=0 if is_shell and status is CallStatus.OK else exit_code,
        interrupted=output.startswith(USER_STOPPED_PREFIX) or flag(structured, "interrupted") is True,
        duration_ms=_duration_in(structured),
        agent_id=agent_id,
    )


def status_of(block: Mapping[str, object], output: str) -> CallStatus:
    """Return how the call of a result ended."""
    if block.get("is_error") is not True:
        return CallStatus.OK
    return CallStatus.NEVER_RAN if never_ran(output) else CallStatus.FAILED


def _duration_in(structured: Mapping[str, object]) -> int | None:
    for name in _DURATIONS_MS:
        if (duration := whole_number(structured, name)) is not None:
            return duration
    seconds = number(structured, "durationSeconds")
    return None if seconds is None else round(seconds * 1000)
