from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartCall,
    StartSession,
    Step,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.codex.payload import STORED_EVENTS, decode

ROLLOUT = "/home/dev/.codex/sessions/2026/01/05/rollout-2026-01-05T10-00-00-s.jsonl"


def payload(event: str, /, **fields: object) -> dict[str, object]:
    common = {"session_id": "s", "transcript_path": ROLLOUT, "cwd": "/work/app", "hook_event_name": event}
    return common | fields


def tool(name: str, given_input: object, response: object, call_id: str = "call_1") -> dict[str, object]:
    named = {"tool_name": name, "tool_input": given_input, "tool_use_id": call_id}
    return payload("PostToolUse", turn_id="t", tool_response=response, **named)


def returned(found: Step | None) -> Call:
    assert isinstance(found, ReturnCalls)
    assert found.whole_step
    (call,) = found.calls
    return call


@pytest.mark.parametrize(
    ("event", "fields", "step"),
    [
        ("SessionStart", {"source": "startup", "model": "m"}, StartSession("startup", "m")),
        ("SessionStart", {"source": "resume"}, StartSession("resume")),
        ("SessionStart", {}, StartSession("startup")),
        ("UserPromptSubmit", {"turn_id": "t", "prompt": "go"}, SubmitPrompt("t", "go", PromptKind.HUMAN)),
        (
            "UserPromptSubmit",
            {"turn_id": "t", "prompt": "use view_image, $release", "agent_id": "a"},
            SubmitPrompt("t", "use view_image, $release", PromptKind.MACHINE),
        ),
        (
            "UserPromptSubmit",
            {"turn_id": "t", "prompt": "use view_image, $release"},
            SubmitPrompt("t", "use view_image, $release", PromptKind.HUMAN, ("view_image",), ("release",)),
        ),
        ("PreToolUse", {"turn_id": "t", "tool_use_id": "c", "tool_name": "Bash"}, StartCall("c")),
        ("Stop", {"turn_id": "t", "stop_hook_active": False}, EndTurn("stop")),
        (
            "SubagentStart",
            {"agent_id": "a", "agent_type": "default"},
            StartSession("sub_agent", "", "default"),
        ),
        ("SubagentStop", {"agent_id": "a", "agent_type": "default"}, EndSession("stop")),
        ("PostCompact", {"trigger": "auto"}, Compact("auto", None)),
        ("SessionEnd", {"reason": "other"}, EndSession("other")),
        ("PreCompact", {"trigger": "auto"}, None),
        ("PermissionRequest", {}, None),
    ],
)
def test_each_event_says_what_happened(event: str, fields: dict[str, object], step: Step | None) -> None:
    assert decode(payload(event, **fields), "").step == step


def test_a_sub_agents_events_belong_to_it_within_the_main_agents_session() -> None:
    childs = ROLLOUT.replace("s.jsonl", "child.jsonl")
    stopped = decode(payload("SubagentStop", agent_id="child", agent_transcript_path=childs, turn_id="t"), "")

    assert stopped.key == SessionKey("codex", "s", "child")
    assert stopped.transcript == childs


@pytest.mark.parametrize(
    ("event", "running_turn"),
    [("PreToolUse", "t"), ("PostToolUse", "t"), ("Stop", "t"), ("UserPromptSubmit", ""), ("SessionEnd", "")],
)
def test_the_turn_that_goes_on_is_named_by_events_within_it(event: str, running_turn: str) -> None:
    named = payload(event, turn_id="t", tool_name="Bash", tool_use_id="c")

    assert decode(named, "").running_turn == running_turn


def test_a_shell_call_has_the_name_and_the_arguments_that_the_rollout_has() -> None:
    call = returned(decode(tool("Bash", {"command": "ls"}, "a\n"), "").step)

    assert (call.tool, call.kind, call.arguments) == ("exec_command", CallKind.SHELL, {"cmd": "ls"})
    assert (call.command, call.output, call.status, call.exit_code) == ("ls", "a\n", CallStatus.OK, None)


def test_without_the_rollout_only_the_words_of_a_command_tell_that_it_failed() -> None:
    call = returned(decode(tool("Bash", {"command": "x"}, "bash: x: command not found\n"), "").step)

    assert (call.status, call.exit_code) == (CallStatus.FAILED, None)


def test_a_patch_says_which_file_it_writes() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n"
    done = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n"
    call = returned(decode(tool("apply_patch", {"command": patch}, done), "").step)

    assert (call.kind, call.target, call.edited) == (CallKind.EDIT, "a.txt", "hello")
    assert (call.output, call.exit_code) == ("Success.\n", 0)


@pytest.mark.parametrize(
    ("name", "tool_name", "kind", "server"),
    [
        ("mcp__issues__list", "mcp__issues__list", CallKind.MCP, "issues"),
        ("collaborationspawn_agent", "spawn_agent", CallKind.AGENT, ""),
        ("collaborationwait_agent", "wait_agent", CallKind.WAIT, ""),
        ("collaboration", "collaboration", CallKind.OTHER, ""),
        ("get_goal", "get_goal", CallKind.OTHER, ""),
    ],
)
def test_other_tools_are_known_by_their_names(name: str, tool_name: str, kind: CallKind, server: str) -> None:
    call = returned(decode(tool(name, {}, "fine"), "").step)

    assert (call.tool, call.kind, call.server) == (tool_name, kind, server)


@pytest.mark.parametrize(
    ("response", "output"),
    [
        ("text", "text"),
        ({"content": [{"type": "text", "text": "one"}], "isError": False}, "one"),
        ({"content": []}, ""),
        ({"goal": None}, '{"goal":null}'),
        (None, ""),
        (3, ""),
    ],
)
def test_a_result_is_read_as_text_whatever_its_form(response: object, output: str) -> None:
    assert returned(decode(tool("get_goal", {}, response), "").step).output == output


@pytest.mark.parametrize(
    "broken",
    [
        {"hook_event_name": "Stop"},
        payload("PreToolUse", turn_id="t"),
        payload("PostToolUse", turn_id="t", tool_name="Bash"),
        payload("PostToolUse", turn_id="t", tool_use_id="c"),
    ],
)
def test_a_payload_without_what_is_needed_is_refused_in_words(broken: dict[str, object]) -> None:
    with pytest.raises(BadPayload, match="the payload has no"):
        decode(broken, "")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)
FIELDS = ("source", "turn_id", "prompt", "tool_input", "tool_response", "agent_id", "trigger", "reason")


@given(
    event=st.sampled_from(sorted(STORED_EVENTS)),
    fields=st.dictionaries(st.sampled_from(FIELDS), JSON | st.dictionaries(st.text(), JSON)),
)
def test_fields_of_any_type_are_read_without_an_error(event: str, fields: dict[str, object]) -> None:
    named = payload(event, **({"tool_name": "Bash", "tool_use_id": "c"} | fields))

    assert decode(named, "").step is not None
