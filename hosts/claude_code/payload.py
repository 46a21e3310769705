"""
Claude Code's hook payloads, decoded (measured on 2.1.310 and 2.1.332).

Registered are PostToolBatch, which carries every call of a step, also those that never ran, and
PostToolUseFailure, which alone tells a failed call from a successful one. A call of a batch without a failure
before it is `never_ran` when the log marks its result as an error, and `ok` otherwise; where the log has
no such line yet (1 of 24 results), the shape of its text decides. So a step whose calls all succeed costs one
hook process, whatever their number.
"""

from __future__ import annotations

import re
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
from tokeneconomizer.hosts.claude_code import tools
from tokeneconomizer.hosts.fields import flag, mapping, number, objects, required_text, text, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokeneconomizer.domain.commands import Step

NAME = "claude_code"

MACHINE_PROMPT_PREFIXES = ("<task-notification>",)
"""A finished background task is announced as a prompt that nobody wrote."""

_EXIT_CODE = re.compile(r"Exit code (-?\d{1,5})(?:\n|$)")

_NEVER_RAN = re.compile(
    r"<tool_use_error>"
    r"|Claude requested permissions? to "
    r"|Permission to use [^\n]{1,600} has been denied"
    r"|The user doesn't want to (?:proceed|take this action)"
    r"|This command requires approval"
    r"|[^\n]{1,80} in '[^\n]{1,600}' (?:needs approval|was blocked)"
    r"|Output redirection to '[^\n]{1,600}' needs approval"
    r"|PreToolUse:[^\n]{1,90} hook error: "
)
"""How the text of a call begins that was refused before it ran."""


def decode(payload: Mapping[str, object], event_flag: str) -> HookCommand:
    """Read a payload; see `hosts.host.Host.decode`."""
    event = text(payload, "hook_event_name") or event_flag
    decoder = _DECODERS.get(event)
    return HookCommand(
        key=SessionKey(NAME, label(required_text(payload, "session_id")), label(text(payload, "agent_id"))),
        event=event,
        cwd=text(payload, "cwd"),
        transcript=text(payload, "transcript_path"),
        step=decoder(payload) if decoder else None,
    )


def text_of_result(result: object) -> str:
    """Return a tool result as the text that the model reads."""
    if isinstance(result, str):
        return result
    if isinstance(result, list):
        blocks = [text(block, "text") for block in result if isinstance(block, dict)]
        return "\n".join(block for block in blocks if block)
    if isinstance(result, dict):
        return _text_of_structured(result)
    return ""


def _text_of_structured(result: Mapping[str, object]) -> str:
    """Return the text of PostToolUse's structured result: Bash's streams, or any texts it has."""
    streams = [text(result, "stdout"), text(result, "stderr")]
    if any(streams):
        return "\n".join(stream for stream in streams if stream)
    if isinstance(result.get("content"), list | str):
        return text_of_result(result["content"])
    return text(mapping(result, "file"), "content")


def never_ran(result_text: str) -> bool:
    """Return whether a call's text is a refusal, so that the tool did not run."""
    return _NEVER_RAN.match(result_text) is not None


def exit_code_in(result_text: str) -> int | None:
    """Return the exit code that a failed shell call's text opens with."""
    found = _EXIT_CODE.match(result_text)
    return int(found.group(1)) if found else None


def _status_by_text(tool: str, result_text: str) -> CallStatus:
    """Return the status of a batch's call, of which no failure hook may have told."""
    if never_ran(result_text):
        return CallStatus.NEVER_RAN
    is_shell = tools.kind_of(tool) is CallKind.SHELL
    return CallStatus.FAILED if is_shell and exit_code_in(result_text) else CallStatus.OK


def call_from(
    payload: Mapping[str, object],
    result_text: str,
    status: CallStatus,
    *,
    interrupted: bool = False,
    kind: CallKind | None = None,
) -> Call:
    """Return the neutral call of an object with tool_name, tool_input and tool_use_id."""
    tool = required_text(payload, "tool_name")
    arguments = mapping(payload, "tool_input")
    kind = kind or tools.kind_of(tool)
    is_shell = kind is CallKind.SHELL
    exit_code = exit_code_in(result_text) if status is CallStatus.FAILED else None
    return Call(
        call_id=required_text(payload, "tool_use_id"),
        tool=tool,
        kind=kind,
        server=tools.server_of(tool),
        arguments=arguments,
        command=text(arguments, "command") if is_shell else "",
        target=tools.target_of(arguments),
        edited=tools.edited_by(tool, arguments),
        output=result_text,
        status=status,
        exit_code=0 if is_shell and status is CallStatus.OK else exit_code,
        interrupted=interrupted,
        background=flag(arguments, "run_in_background") is True,
        duration_ms=whole_number(payload, "duration_ms"),
    )


def _session_start(payload: Mapping[str, object]) -> Step:
    return StartSession(
        source=text(payload, "source") or "startup",
        model=text(payload, "model"),
        seconds_since_last_response=number(payload, "seconds_since_last_response"),
        context_tokens=whole_number(payload, "context_tokens"),
        cache_expired=flag(payload, "prompt_cache_likely_expired"),
    )


def _user_prompt(payload: Mapping[str, object]) -> Step:
    prompt = text(payload, "prompt")
    is_machine = prompt.lstrip().startswith(MACHINE_PROMPT_PREFIXES)
    return SubmitPrompt(
        prompt_id=text(payload, "prompt_id"),
        text=prompt,
        kind=PromptKind.MACHINE if is_machine else PromptKind.HUMAN,
        tools_named=() if is_machine else tools.tools_named_in(prompt),
        skills_named=() if is_machine else tools.skills_named_in(prompt),
    )


def _tool_batch(payload: Mapping[str, object]) -> Step:
    calls = []
    for call in objects(payload, "tool_calls"):
        if not (text(call, "tool_name") and text(call, "tool_use_id")):
            # One unreadable call must not cost its siblings.
            continue
        result_text = text_of_result(call.get("tool_response"))
        calls.append(call_from(call, result_text, _status_by_text(text(call, "tool_name"), result_text)))
    return ReturnCalls(tuple(calls), whole_step=True)


def _tool_use(payload: Mapping[str, object]) -> Step:
    call = call_from(payload, text_of_result(payload.get("tool_response")), CallStatus.OK)
    return ReturnCalls((call,), whole_step=False)


def _tool_failure(payload: Mapping[str, object]) -> Step:
    call = call_from(
        payload,
        text(payload, "error"),
        CallStatus.FAILED,
        interrupted=flag(payload, "is_interrupt") is True,
    )
    return ReturnCalls((call,), whole_step=False)


def _stop(_payload: Mapping[str, object]) -> Step:
    return EndTurn("stop")


def _stop_failure(payload: Mapping[str, object]) -> Step:
    return EndTurn(text(payload, "error") or "error")


def _sub_agent_start(payload: Mapping[str, object]) -> Step:
    return StartSession(source="sub_agent", agent_type=text(payload, "agent_type"))


def _sub_agent_stop(payload: Mapping[str, object]) -> Step | None:
    # A compaction's own request ends as a sub-agent without a type; it never started as one.
    return EndSession("stop") if text(payload, "agent_type") else None


def _post_compact(payload: Mapping[str, object]) -> Step:
    return Compact(text(payload, "trigger"), len(text(payload, "compact_summary")))


def _session_end(payload: Mapping[str, object]) -> Step:
    return EndSession(text(payload, "reason") or "other")


_DECODERS: dict[str, Callable[[Mapping[str, object]], Step | None]] = {
    "PostCompact": _post_compact,
    "PostToolBatch": _tool_batch,
    "PostToolUse": _tool_use,
    "PostToolUseFailure": _tool_failure,
    "SessionEnd": _session_end,
    "SessionStart": _session_start,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "SubagentStart": _sub_agent_start,
    "SubagentStop": _sub_agent_stop,
    "UserPromptSubmit": _user_prompt,
}
"""Events without a decoder (PreToolUse, Notification ...) are known and need not be stored."""

STORED_EVENTS = frozenset(_DECODERS)
"""The hook events from which something is stored."""
