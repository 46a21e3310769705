"""
Copilot CLI's hook payloads, decoded (measured on 1.0.102).

How an event is spelled at its registration chooses the payload: `postToolUse` brings `toolName` and no event
name, `PostToolUse` brings `tool_name`, Claude's names of tools and mostly the event's. Both are read as one.
A call has no id: what tells it from others is the time of its hook. That is the same, to the millisecond, in
every registration, and the hooks of two calls never begin together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import (
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus, canonical_json
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.domain.labels import label
from tokeneconomizer.hosts.copilot import tools
from tokeneconomizer.hosts.copilot.log_calls import exit_code_in, goes_on
from tokeneconomizer.hosts.fields import mapping, required_text, text, time_of, whole_number
from tokeneconomizer.hosts.recognise import COPILOT as NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.commands import Step

__all__ = ["NAME", "STORED_EVENTS", "decode"]

MS_PER_S = 1_000

_UPPER = re.compile(r"(?<=[a-z0-9])[A-Z]")

_EVENTS = {
    "SessionStart": "sessionStart",
    "UserPromptSubmit": "userPromptSubmitted",
    "PostToolUse": "postToolUse",
    "PostToolUseFailure": "postToolUseFailure",
    "Stop": "agentStop",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "SessionEnd": "sessionEnd",
}
"""Copilot's own names of the events that may be registered under Claude's."""

_SOURCES = {"new": "startup"}
"""What Copilot says of a start, in the words of the other agents where they differ."""


def decode(payload: Mapping[str, object], event_flag: str) -> HookCommand:
    """Read a payload; see `hosts.host.Host.decode`."""
    fields = {_snake(name): value for name, value in payload.items()}
    event = text(fields, "hook_event_name") or text(fields, "hook_name") or event_flag
    decoder = _DECODERS.get(_EVENTS.get(event, event))
    return HookCommand(
        key=_key(fields),
        event=event,
        cwd=text(fields, "cwd"),
        transcript=text(fields, "transcript_path"),
        step=decoder(fields) if decoder else None,
    )


def _snake(name: str) -> str:
    return _UPPER.sub(lambda found: "_" + found[0], name).lower()


def _key(fields: Mapping[str, object]) -> SessionKey:
    """Return the stream: as its session a sub-agent's own hooks name itself, those about it its parent."""
    session_id, agent_id = required_text(fields, "session_id"), text(fields, "agent_id")
    if agent_id:
        session_id = text(fields, "parent_agent_id") or session_id
    return SessionKey(NAME, label(session_id), label(agent_id))


def _is_of_sub_agent(fields: Mapping[str, object]) -> bool:
    return bool(text(fields, "agent_id"))


def _time_ms(fields: Mapping[str, object]) -> str:
    """Return the hook's time in milliseconds, which one spelling writes as a number, the other as a text."""
    number = whole_number(fields, "timestamp")
    if number is not None:
        return str(number)
    written = time_of(text(fields, "timestamp"))
    return str(round(written.timestamp() * MS_PER_S)) if written else ""


def _required_time_ms(fields: Mapping[str, object]) -> str:
    found = _time_ms(fields)
    if not found:
        message = "the payload has no `timestamp`: nothing was stored for it"
        raise BadPayload(message)
    return found


def _session_start(fields: Mapping[str, object]) -> Step:
    source = text(fields, "source")
    return StartSession(
        source=_SOURCES.get(source, source) or "startup", reassembles=True, overlaps_prompt=True
    )


def _prompt(fields: Mapping[str, object]) -> Step | None:
    if _is_of_sub_agent(fields):
        # What the parent asks of it: the call that did is stored.
        return None
    return SubmitPrompt(prompt_id=_time_ms(fields), text=text(fields, "prompt"), kind=PromptKind.HUMAN)


def _tool_use(fields: Mapping[str, object]) -> Step:
    result = mapping(fields, "tool_result")
    output = text(result, "textResultForLlm") or text(result, "text_result_for_llm")
    return ReturnCalls((_call(fields, output, CallStatus.OK),), whole_step=True)


def _tool_failure(fields: Mapping[str, object]) -> Step:
    return ReturnCalls((_call(fields, text(fields, "error"), CallStatus.FAILED),), whole_step=True)


def _call(fields: Mapping[str, object], output: str, status: CallStatus) -> Call:
    tool = tools.own_name(required_text(fields, "tool_name"))
    given = fields.get("tool_args", fields.get("tool_input"))
    arguments = tools.arguments_of(given)
    server = tools.server_by_name(tool)
    kind = tools.kind_of(tool, server)
    # A command that fails is a success to Copilot: only the last line of its output says so.
    exit_code = exit_code_in(output) if kind in {CallKind.SHELL, CallKind.WAIT} else None
    return Call(
        call_id=_call_id(fields, tool, arguments),
        tool=tool,
        kind=kind,
        server=server,
        arguments=arguments,
        command=text(arguments, "command") if kind is CallKind.SHELL else "",
        target=tools.target_of(arguments),
        edited=tools.edited_by(kind, arguments),
        output=output,
        status=CallStatus.FAILED if exit_code else status,
        exit_code=exit_code,
        interrupted=False,
        background=goes_on(arguments),
        duration_ms=None,
    )


def _call_id(fields: Mapping[str, object], tool: str, arguments: Mapping[str, object]) -> str:
    """Return a call's id; it is stored, so that it holds no more of the arguments than their length."""
    return f"{_required_time_ms(fields)}-{tool}-{len(canonical_json(arguments))}"


def _stop(fields: Mapping[str, object]) -> Step | None:
    # A sub-agent's end is told once more, with its parent's session.
    return None if _is_of_sub_agent(fields) else EndTurn("stop")


def _sub_agent_start(fields: Mapping[str, object]) -> Step | None:
    agent_type = text(fields, "agent_type") or text(fields, "agent_name")
    return StartSession(source="sub_agent", agent_type=agent_type) if _is_of_sub_agent(fields) else None


def _sub_agent_stop(fields: Mapping[str, object]) -> Step | None:
    return EndSession("stop") if _is_of_sub_agent(fields) else None


def _session_end(fields: Mapping[str, object]) -> Step:
    return EndSession(text(fields, "reason") or "other")


_DECODERS: dict[str, Callable[[Mapping[str, object]], Step | None]] = {
    "agentStop": _stop,
    "postToolUse": _tool_use,
    "postToolUseFailure": _tool_failure,
    "sessionEnd": _session_end,
    "sessionStart": _session_start,
    "subagentStart": _sub_agent_start,
    "subagentStop": _sub_agent_stop,
    "userPromptSubmitted": _prompt,
}
"""Events without a decoder (preToolUse, permissionRequest ...) are known and need not be stored."""

STORED_EVENTS = frozenset(_DECODERS)
"""The hook events from which something is stored."""
