"""
What Pi's extension tells (measured on 1.6.0), decoded.

A payload is one of Pi's own events, cut to the fields that are read here, in an envelope that names the
session: `{"session_id", "session_file", "cwd", "event": {"type", ...}}`. A step is told when it is over, with
all its calls and results: one call of the bridge a step. `goesOn`, `ran`, `entryId`, `source`, `tools`,
`outcome`, `provider` and `usage` are what the extension adds to the events.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.told import ToldContext
from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.hosts.fields import count, flag, mapping, objects, required_text, text, whole_number
from tokeneconomizer.hosts.pi import tools
from tokeneconomizer.hosts.pi.log_entries import records_of
from tokeneconomizer.hosts.recognise import PI
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep
from tokeneconomizer.hosts.steps import steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.domain.digests import Call

NAME = PI

STARTUP, RESUMED = "startup", "resume"

OFFERED_TOOLS_MAX = 1_000
"""A dozen servers with some tens of tools each."""

BY_EXTENSION = "extension"
"""The source of a prompt that another extension sent in the user's name."""

STAYS_OPEN = frozenset({"reload"})
"""Reasons of a shutdown after which the same session goes on in the same process."""


def decode(payload: Mapping[str, object], event_flag: str) -> HookCommand:
    """Read a payload; see `hosts.host.Host.decode`."""
    event = mapping(payload, "event")
    name = text(event, "type") or event_flag
    decoder = _DECODERS.get(name)
    return HookCommand(
        key=SessionKey(NAME, label(required_text(payload, "session_id"))),
        event=name,
        cwd=text(payload, "cwd"),
        transcript=text(payload, "session_file"),
        step=decoder(event) if decoder else None,
        looks_ahead=True,
        offered=_offered(event),
    )


def _offered(event: Mapping[str, object]) -> tuple[OfferedTool, ...]:
    return tuple(
        OfferedTool(label(name), label(tools.server_of(name, {})), count(tool, "characters"))
        for tool in objects(event, "tools")[:OFFERED_TOOLS_MAX]
        if (name := text(tool, "name"))
    )


def _session_start(event: Mapping[str, object]) -> Step:
    # Pi calls a session that goes on `startup`; what it was given stands in its file.
    source = RESUMED if flag(event, "goesOn") else STARTUP
    return StartSession(source=source, model=text(event, "model"))


def _message_end(event: Mapping[str, object]) -> Step | None:
    message = mapping(event, "message")
    for record in records_of(0, {"type": "message", "id": text(event, "entryId"), "message": message}):
        if isinstance(record, LoggedPrompt):
            is_machine = text(event, "source") == BY_EXTENSION
            return SubmitPrompt(
                prompt_id=record.prompt_id,
                text=record.text,
                kind=PromptKind.MACHINE if is_machine else PromptKind.HUMAN,
                skills_named=() if is_machine else record.skills_named,
            )
    return None


def _turn_end(event: Mapping[str, object]) -> Step | None:
    results = objects(event, "toolResults")
    if not results:
        return None
    # The form in which Pi keeps them, where a step is told by the id of the entry that asked for its calls.
    asked = {"role": "assistant", "content": mapping(event, "message").get("content")}
    entries = [asked, *({**result, "role": "toolResult"} for result in results)]
    records = [
        record
        for message in entries
        for record in records_of(0, {"type": "message", "id": "step", "message": message})
    ]
    durations = {text(result, "toolCallId"): whole_number(result, "durationMs") for result in results}
    ran = event.get("ran")
    return ReturnCalls(
        tuple(
            replace(
                call,
                duration_ms=durations.get(call.call_id),
                status=_status(call, ran) if isinstance(ran, list) else call.status,
            )
            for step in steps_of(records)
            if isinstance(step, LoggedStep)
            for call in step.calls
        ),
        whole_step=True,
    )


def _status(call: Call, ran: list[object]) -> CallStatus:
    if call.status is CallStatus.OK:
        return CallStatus.OK
    return CallStatus.FAILED if call.call_id in ran else CallStatus.NEVER_RAN


def _agent_settled(event: Mapping[str, object]) -> Step:
    usage = mapping(event, "usage")
    told = ToldContext(
        provider=label(text(event, "provider")),
        used_tokens=count(usage, "tokens"),
        window_tokens=count(usage, "contextWindow"),
    )
    if flag(event, "aborted"):
        return EndTurn("no_stop", told)
    return EndTurn("error" if text(event, "outcome") == "error" else "stop", told)


def _session_compact(event: Mapping[str, object]) -> Step:
    return Compact(text(event, "reason"), len(text(mapping(event, "compactionEntry"), "summary")))


def _session_shutdown(event: Mapping[str, object]) -> Step | None:
    reason = text(event, "reason") or "other"
    return None if reason in STAYS_OPEN else EndSession(reason)


_DECODERS: dict[str, Callable[[Mapping[str, object]], Step | None]] = {
    "agent_settled": _agent_settled,
    "message_end": _message_end,
    "session_compact": _session_compact,
    "session_shutdown": _session_shutdown,
    "session_start": _session_start,
    "turn_end": _turn_end,
}
"""Events without a decoder (tool_call, tool_result, context ...) tell nothing that these do not."""
