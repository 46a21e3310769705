"""
What our plugin tells of opencode, decoded (hooks of 1.18.33).

A payload is what opencode hands to a hook, under that hook's name, without what nobody needs; beside it
`folder`, where the agent works, and `parent`, the session that a sub-agent works for. `session.resumed` alone
is no event of opencode: with it the plugin names a session that an earlier process began.

A sub-agent has a session of its own here, as in the log, and its prompt was written by its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.hosts.fields import count, mapping, number, objects, required_text, text
from tokeneconomizer.hosts.opencode.log_records import ABORTED
from tokeneconomizer.hosts.opencode.parts import completed, failed, prompt_in
from tokeneconomizer.hosts.opencode.tools import (
    edited_by,
    kind_of,
    server_of,
    skills_named_in,
    target_of,
    tools_named_in,
)
from tokeneconomizer.hosts.recognise import OPENCODE as NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.commands import Step

__all__ = ["NAME", "decode"]

OFFERED_TOOLS_MAX = 1_000
"""A dozen servers with some tens of tools each."""

EVENT = "event"
"""The hook that is told of everything on opencode's bus; its events are known by their own names here."""


def decode(payload: Mapping[str, object], event_flag: str) -> HookCommand:
    """Read a payload; see `hosts.host.Host.decode`."""
    hook = text(payload, "name") or event_flag
    told = mapping(payload, "event")
    name = text(told, "type") if hook == EVENT else hook
    about = mapping(told, "properties") if hook == EVENT else mapping(payload, "input")
    session_id = text(about, "sessionID") or text(payload, "sessionID")
    decoder = _DECODERS.get(name) if session_id else None
    return HookCommand(
        key=SessionKey(NAME, label(session_id)),
        event=name,
        cwd=text(payload, "folder"),
        transcript="",
        step=decoder(payload, about) if decoder else None,
        looks_ahead=True,
        offered=_offered(payload),
    )


def _offered(payload: Mapping[str, object]) -> tuple[OfferedTool, ...]:
    return tuple(
        OfferedTool(label(name), label(server_of(name)), count(tool, "characters"))
        for tool in objects(payload, "tools")[:OFFERED_TOOLS_MAX]
        if (name := text(tool, "name"))
    )


def _created(payload: Mapping[str, object], about: Mapping[str, object]) -> Step:
    return _start(payload, about, "startup")


def _resumed(payload: Mapping[str, object], about: Mapping[str, object]) -> Step:
    return _start(payload, about, "resume")


def _start(payload: Mapping[str, object], about: Mapping[str, object], source: str) -> Step:
    info = mapping(about, "info")
    if _parent(payload):
        return StartSession("sub_agent", agent_type=text(info, "agent"))
    # The system prompt is no part of what opencode keeps of a session.
    return StartSession(source, reassembles=True)


def _prompt(payload: Mapping[str, object], _about: Mapping[str, object]) -> Step | None:
    output = mapping(payload, "output")
    prompt, has_file = prompt_in(objects(output, "parts"))
    if not prompt.strip() and not has_file:
        return None
    return SubmitPrompt(
        prompt_id=text(mapping(output, "message"), "id"),
        text=prompt,
        kind=PromptKind.MACHINE if _parent(payload) else PromptKind.HUMAN,
        tools_named=tools_named_in(prompt),
        skills_named=skills_named_in(prompt),
    )


def _returned(payload: Mapping[str, object], about: Mapping[str, object]) -> Step:
    result = mapping(payload, "output")
    tool, output = required_text(about, "tool"), text(result, "output")
    status, exit_code, interrupted = completed(tool, output, mapping(result, "metadata"))
    call_id, arguments = required_text(about, "callID"), mapping(about, "args")
    return _whole_step(
        _call(call_id, tool, arguments, output, status, exit_code=exit_code, interrupted=interrupted)
    )


def _part(_payload: Mapping[str, object], about: Mapping[str, object]) -> Step | None:
    """Return the failed call that a part tells of; of those that came back `tool.execute.after` tells."""
    part = mapping(about, "part")
    state = mapping(part, "state")
    if text(part, "type") != "tool" or text(state, "status") != "error":
        return None
    error = text(state, "error")
    status, interrupted = failed(error, state)
    call_id, tool = required_text(part, "callID"), required_text(part, "tool")
    return _whole_step(
        _call(
            call_id,
            tool,
            mapping(state, "input"),
            error,
            status,
            interrupted=interrupted,
            duration_ms=_duration_ms(mapping(state, "time")),
        )
    )


def _whole_step(call: Call) -> ReturnCalls:
    # Each call is told by itself, and what there is to say goes with it.
    return ReturnCalls((call,), whole_step=True)


def _call(  # noqa: PLR0913 - what is known of a call
    call_id: str,
    tool: str,
    arguments: Mapping[str, object],
    output: str,
    status: CallStatus,
    *,
    exit_code: int | None = None,
    interrupted: bool,
    duration_ms: int | None = None,
) -> Call:
    kind = kind_of(tool)
    return Call(
        call_id=call_id,
        tool=tool,
        kind=kind,
        server=server_of(tool),
        arguments=arguments,
        command=text(arguments, "command") if kind is CallKind.SHELL else "",
        target=target_of(arguments),
        edited=edited_by(tool, arguments),
        output=output,
        status=status,
        exit_code=exit_code,
        interrupted=interrupted,
        background=False,
        duration_ms=duration_ms,
    )


def _duration_ms(time: Mapping[str, object]) -> int | None:
    started, ended = number(time, "start"), number(time, "end")
    return None if started is None or ended is None else max(0, int(ended - started))


def _idle(_payload: Mapping[str, object], _about: Mapping[str, object]) -> Step:
    return EndTurn("stop")


def _error(_payload: Mapping[str, object], about: Mapping[str, object]) -> Step:
    name = text(mapping(about, "error"), "name") or "error"
    return EndTurn("no_stop" if name == ABORTED else label(name))


def _compacted(payload: Mapping[str, object], _about: Mapping[str, object]) -> Step | None:
    characters = count(payload, "summaryCharacters")
    return None if characters is None else Compact(text(payload, "trigger"), characters)


def _deleted(_payload: Mapping[str, object], _about: Mapping[str, object]) -> Step:
    return EndSession("deleted")


def _disposed(_payload: Mapping[str, object], _about: Mapping[str, object]) -> Step:
    return EndSession("dispose")


def _parent(payload: Mapping[str, object]) -> str:
    info = mapping(mapping(mapping(payload, "event"), "properties"), "info")
    return text(payload, "parent") or text(info, "parentID")


_DECODERS: dict[str, Callable[[Mapping[str, object], Mapping[str, object]], Step | None]] = {
    "chat.message": _prompt,
    "dispose": _disposed,
    "message.part.updated": _part,
    "session.compacted": _compacted,
    "session.created": _created,
    "session.deleted": _deleted,
    "session.error": _error,
    "session.idle": _idle,
    "session.resumed": _resumed,
    "tool.execute.after": _returned,
}
"""Hooks and events without a decoder are known and need not be stored."""
