"""
Codex's hook payloads, decoded (measured on 0.171.0 and 0.164.0).

PostToolUse tells every shell command that ended, but no exit code; of other tools it tells only calls that
succeeded. What failed or never ran stands in the rollout (`log_tail`), and is looked for with the next hook
of the turn. PreToolUse is registered for that alone: nothing is stored of a call before it came back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartCall,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.labels import label
from tokeneconomizer.hosts.codex import tools
from tokeneconomizer.hosts.codex.outcomes import outcome_of_text, text_of
from tokeneconomizer.hosts.failure_texts import tells_of_failure
from tokeneconomizer.hosts.fields import mapping, required_text, text
from tokeneconomizer.hosts.recognise import CODEX as NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.commands import Step

__all__ = ["NAME", "STORED_EVENTS", "decode"]

WITHIN_A_TURN = frozenset({"PreToolUse", "PostToolUse", "Stop", "SubagentStop"})
"""Events of the turn that `turn_id` names; with UserPromptSubmit it names the one that begins."""


def decode(payload: Mapping[str, object], event_flag: str) -> HookCommand:
    """Read a payload; see `hosts.host.Host.decode`."""
    event = text(payload, "hook_event_name") or event_flag
    decoder = _DECODERS.get(event)
    return HookCommand(
        # A sub-agent's payloads name the main agent's session.
        key=SessionKey(NAME, label(required_text(payload, "session_id")), label(text(payload, "agent_id"))),
        event=event,
        cwd=text(payload, "cwd"),
        # When a sub-agent stops, the other field is the main agent's.
        transcript=text(payload, "agent_transcript_path") or text(payload, "transcript_path"),
        step=decoder(payload) if decoder else None,
        running_turn=text(payload, "turn_id") if event in WITHIN_A_TURN else "",
    )


def _session_start(payload: Mapping[str, object]) -> Step:
    return StartSession(source=text(payload, "source") or "startup", model=text(payload, "model"))


def _user_prompt(payload: Mapping[str, object]) -> Step:
    prompt = text(payload, "prompt")
    is_machine = bool(text(payload, "agent_id"))
    return SubmitPrompt(
        prompt_id=text(payload, "turn_id"),
        text=prompt,
        kind=PromptKind.MACHINE if is_machine else PromptKind.HUMAN,
        tools_named=() if is_machine else tools.tools_named_in(prompt),
        skills_named=() if is_machine else tools.skills_named_in(prompt),
    )


def _tool_call(payload: Mapping[str, object]) -> Step:
    return StartCall(required_text(payload, "tool_use_id"))


def _tool_use(payload: Mapping[str, object]) -> Step:
    # Whether it came side by side with others is known from the rollout alone.
    return ReturnCalls((_returned(payload),), whole_step=True)


def _returned(payload: Mapping[str, object]) -> Call:
    tool = tools.name_of_hook(required_text(payload, "tool_name"))
    arguments = tools.arguments_of_hook(tool, mapping(payload, "tool_input"))
    kind = tools.kind_of(tool, arguments)
    told = outcome_of_text(_output_of(payload.get("tool_response")))
    is_shell = kind is CallKind.SHELL
    failed = told.status is CallStatus.FAILED or (is_shell and tells_of_failure(told.text))
    return Call(
        call_id=required_text(payload, "tool_use_id"),
        tool=tool,
        kind=kind,
        server=tools.server_of(tool),
        arguments=arguments,
        command=tools.command_of(tool, arguments),
        target=tools.target_of(tool, arguments),
        edited=tools.edited_by(tool, arguments),
        output=told.text,
        # The rollout says it for certain; what a command printed is all that is known without it.
        status=CallStatus.FAILED if failed else CallStatus.OK,
        exit_code=told.exit_code,
        interrupted=told.interrupted,
        background=False,
        duration_ms=told.duration_ms,
    )


def _output_of(response: object) -> str:
    """Return a result as text: a text, the answer of an MCP server, or the object of a built-in tool."""
    found = text_of(response)
    if found or not isinstance(response, dict) or "content" in response:
        return found
    return json.dumps(response, ensure_ascii=False, separators=(",", ":"))


def _stop(_payload: Mapping[str, object]) -> Step:
    return EndTurn("stop")


def _sub_agent_start(payload: Mapping[str, object]) -> Step:
    return StartSession(
        source="sub_agent", model=text(payload, "model"), agent_type=text(payload, "agent_type")
    )


def _sub_agent_stop(_payload: Mapping[str, object]) -> Step:
    return EndSession("stop")


def _post_compact(payload: Mapping[str, object]) -> Step:
    return Compact(text(payload, "trigger"), summary_characters=None)


def _session_end(payload: Mapping[str, object]) -> Step:
    return EndSession(text(payload, "reason") or "other")


_DECODERS: dict[str, Callable[[Mapping[str, object]], Step]] = {
    "PostCompact": _post_compact,
    "PostToolUse": _tool_use,
    "PreToolUse": _tool_call,
    "SessionEnd": _session_end,
    "SessionStart": _session_start,
    "Stop": _stop,
    "SubagentStart": _sub_agent_start,
    "SubagentStop": _sub_agent_stop,
    "UserPromptSubmit": _user_prompt,
}
"""Events without a decoder (PreCompact, PermissionRequest ...) are known and need not be stored."""

STORED_EVENTS = frozenset(_DECODERS)
"""The hook events from which something is stored."""
