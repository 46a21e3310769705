"""What Pi's entries tell besides tokens and the session itself: each by itself, without state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import orjson

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.fields import count, flag, mapping, moment, objects, text
from tokeneconomizer.hosts.pi import tools
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedStop,
    LoggedTool,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.records import Record

_EXIT_CODE = re.compile(r"(?:^|\n)Command exited with code (-?\d{1,5})\s*$")
"""The last line of a shell call that failed."""

_CUT_OFF = re.compile(r"(?:^|\n)Command (?:aborted|timed out after [^\n]{1,40})\s*$")
"""The last line of a shell call that the user or its time limit ended."""

_NEVER_RAN = re.compile(
    r"Tool execution was blocked"
    r"|Tool \S{1,100} not found$"
    r"|Validation failed for tool "
    r"|Skipped due to queued user message"
)
"""How the text of a call begins that Pi refused; an extension that blocks a call gives words of its own."""

_REASONS = {"stop": "stop", "length": "stop", "aborted": "no_stop", "error": "error"}
"""How a turn ended, by the stop reason of its last reply."""

_DEFINITION_FIELDS = ("name", "description", "parameters")
"""What a model is given of a tool; the other fields tell Pi how to call it."""


class _Place(NamedTuple):
    """Where an entry stands."""

    line: int
    at: datetime | None
    entry_id: str


def records_of(number: int, line: Mapping[str, object]) -> list[Record]:
    """Return the records of an entry."""
    place = _Place(number, moment(line, "timestamp"), text(line, "id") or text(line, "timestamp"))
    match text(line, "type"):
        case "message":
            message = mapping(line, "message")
            reader = _READERS.get(text(message, "role"))
            return reader(place, message) if reader else []
        case "compaction":
            return [_compaction(place, line)]
        case _:
            return []


def _text_of(message: Mapping[str, object]) -> str:
    """Return the text of a message, pictures and thoughts left out."""
    blocks = [block for block in objects(message, "content") if text(block, "type") == "text"]
    return text(message, "content") or "\n".join(text(block, "text") for block in blocks)


def _prompt(place: _Place, message: Mapping[str, object]) -> list[Record]:
    # A picture alone is a prompt too.
    if not message.get("content"):
        return []
    prompt = _text_of(message)
    return [
        LoggedPrompt(
            line=place.line,
            at=place.at,
            prompt_id=place.entry_id,
            text=prompt,
            kind=PromptKind.HUMAN,
            skills_named=tools.skills_named_in(prompt),
        )
    ]


def _reply(place: _Place, message: Mapping[str, object]) -> list[Record]:
    """Return the calls of a reply, which are one step, and the end of the turn where it is the last."""
    found: list[Record] = [
        _call(place, block)
        for block in objects(message, "content")
        if text(block, "type") == "toolCall" and text(block, "id") and text(block, "name")
    ]
    reason = _REASONS.get(text(message, "stopReason"))
    if reason:
        found.append(LoggedStop(place.line, place.at, reason))
    return found


def _call(place: _Place, block: Mapping[str, object]) -> LoggedCall:
    tool, arguments = text(block, "name"), mapping(block, "arguments")
    kind = tools.kind_of(tool)
    return LoggedCall(
        line=place.line,
        at=place.at,
        step=place.entry_id,
        call_id=text(block, "id"),
        tool=tool,
        kind=kind,
        arguments=arguments,
        server=tools.server_of(tool, arguments),
        command=text(arguments, "command") if kind is CallKind.SHELL else "",
        target=tools.target_of(arguments),
        edited=tools.edited_by(tool, arguments),
    )


def _result(place: _Place, message: Mapping[str, object]) -> list[Record]:
    output, call_id = _text_of(message), text(message, "toolCallId")
    if not call_id:
        return []
    is_shell = tools.kind_of(text(message, "toolName")) is CallKind.SHELL
    status, exit_code = CallStatus.OK, 0 if is_shell else None
    if flag(message, "isError"):
        status = CallStatus.NEVER_RAN if _NEVER_RAN.match(output) else CallStatus.FAILED
        told = _EXIT_CODE.search(output) if is_shell else None
        exit_code = int(told[1]) if told else None
    is_cut_off = is_shell and status is CallStatus.FAILED and _CUT_OFF.search(output) is not None
    return [LoggedResult(place.line, place.at, call_id, output, status, exit_code, interrupted=is_cut_off)]


def _system(place: _Place, message: Mapping[str, object]) -> list[Record]:
    """Return the tools that a system message adds and takes away."""
    added = tuple(
        LoggedTool(text(tool, "name"), _characters(tool))
        for tool in objects(message, "toolsAdded")
        if text(tool, "name")
    )
    removed = tuple(text(tool, "name") for tool in objects(message, "toolsRemoved") if text(tool, "name"))
    if not (added or removed):
        return []
    return [LoggedCatalogue(place.line, place.at, added, whole=False, removed=removed)]


def _characters(tool: Mapping[str, object]) -> int:
    definition = {name: tool[name] for name in _DEFINITION_FIELDS if name in tool}
    return len(orjson.dumps(definition).decode())


def _compaction(place: _Place, line: Mapping[str, object]) -> LoggedCompaction:
    return LoggedCompaction(
        line=place.line,
        at=place.at,
        trigger="",
        tokens_before=count(line, "tokensBefore"),
        summary_characters=len(text(line, "summary")),
    )


_READERS: dict[str, Callable[[_Place, Mapping[str, object]], list[Record]]] = {
    "assistant": _reply,
    "system": _system,
    "toolResult": _result,
    "user": _prompt,
}
"""By role; what a person runs with `!` is no call of the model, and extensions' messages are no prompts."""
