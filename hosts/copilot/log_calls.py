"""The calls of Copilot CLI's model and what came back, as its events tell them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.copilot import tools
from tokeneconomizer.hosts.fields import flag, mapping, objects, text, whole_number
from tokeneconomizer.hosts.records import LoggedCall, LoggedResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_EXIT_CODE = re.compile(
    r"(?:^|\n)<(?:shellId: [^\s>]{1,40} completed|exited) with exit code (-?\d{1,5})>\s*\Z"
)
"""A shell call's last line: the first form from 1.0.64 on, the second before."""

LAST_LINE_CHARACTERS_MAX = 200
"""The line has up to 80, and blanks may follow it."""

_GUIDANCE = re.compile(r"\n\nTool \"[^\"\n]{1,100}\" (?:succeeded|failed)\. Additional guidance from ")
"""How the text of hooks begins that is appended to a result: it is not the tool's."""

_NEVER_RAN_CODES = frozenset({"denied", "rejected"})

_NEVER_RAN = re.compile(
    r"Denied by preToolUse hook"
    r"|The user rejected this tool call"
    r"|Permission denied and could not request permission from user"
)
"""How the text of a call begins that was refused before it ran, where no code says so."""


def calls_of(number: int, at: datetime | None, data: Mapping[str, object], agent_id: str) -> list[LoggedCall]:
    """Return the calls that a message of the model asks for: one step."""
    step = text(data, "messageId")
    asked = objects(data, "toolRequests")
    return [
        _call(number, at, step, request, agent_id)
        for request in asked
        if text(request, "toolCallId") and text(request, "name")
    ]


def _call(
    number: int, at: datetime | None, step: str, request: Mapping[str, object], agent_id: str
) -> LoggedCall:
    tool = text(request, "name")
    server = tools.server_of(tool, text(request, "mcpServerName"))
    kind = tools.kind_of(tool, server)
    arguments = tools.arguments_of(request.get("arguments"))
    return LoggedCall(
        line=number,
        at=at,
        step=step,
        call_id=text(request, "toolCallId"),
        tool=tool,
        kind=kind,
        arguments=arguments,
        server=server,
        command=text(arguments, "command") if kind is CallKind.SHELL else "",
        target=tools.target_of(arguments),
        edited=tools.edited_by(kind, arguments),
        background=goes_on(arguments),
        agent_id=agent_id,
    )


def goes_on(arguments: Mapping[str, object]) -> bool:
    """Return whether what a call starts goes on after its result."""
    return text(arguments, "mode") == "async" or flag(arguments, "detach") is True


def exit_code_in(output: str) -> int | None:
    """Return the exit code that a shell call's output ends with."""
    found = _EXIT_CODE.search(output[-LAST_LINE_CHARACTERS_MAX:])
    return int(found[1]) if found else None


def result_of(
    number: int, at: datetime | None, data: Mapping[str, object], agent_id: str
) -> LoggedResult | None:
    """Return a call's result; nothing where the event names no call."""
    if not text(data, "toolCallId"):
        return None
    error = mapping(data, "error")
    output = text(mapping(data, "result"), "content") or text(error, "message")
    if guidance := _GUIDANCE.search(output):
        output = output[: guidance.start()]
    exit_code = _exit_code(data, output)
    return LoggedResult(
        line=number,
        at=at,
        call_id=text(data, "toolCallId"),
        text=output,
        status=_status(data, output, exit_code),
        exit_code=exit_code,
        agent_id=agent_id,
    )


def _exit_code(data: Mapping[str, object], output: str) -> int | None:
    told = whole_number(mapping(data, "shellExecution"), "exitCode")
    return exit_code_in(output) if told is None else told


def _status(data: Mapping[str, object], output: str, exit_code: int | None) -> CallStatus:
    """Return how the call ended: a command that fails is a success to Copilot."""
    if flag(data, "success") is False:
        is_refused = text(mapping(data, "error"), "code") in _NEVER_RAN_CODES or _NEVER_RAN.match(output)
        return CallStatus.NEVER_RAN if is_refused else CallStatus.FAILED
    return CallStatus.FAILED if exit_code else CallStatus.OK
