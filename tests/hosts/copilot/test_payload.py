"""Copilot CLI's payloads in both spellings; where recordings are at hand, all of those as well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_reading import CORPUS, NO_RECORDINGS

from tokeneconomizer.domain.commands import (
    EndSession,
    EndTurn,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.copilot.payload import decode
from tokeneconomizer.scheduler import intake

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = sorted((CORPUS / "payloads" / "copilot").glob("*Case/*.json"))

TIME_MS = 1_767_603_600_123
TIME_TEXT = "2026-01-05T09:00:00.123Z"

CAMEL = {"sessionId": "s", "timestamp": TIME_MS, "cwd": "/p"}
PASCAL = {"session_id": "s", "timestamp": TIME_TEXT, "cwd": "/p"}
CAMEL_CHILD = {**CAMEL, "sessionId": "child", "agentId": "child", "parentAgentId": "s"}
PASCAL_CHILD = {**PASCAL, "session_id": "child", "agent_id": "child", "parent_agent_id": "s"}

START = {"reassembles": True, "overlaps_prompt": True}
PROMPT = SubmitPrompt(str(TIME_MS), "mend it", PromptKind.HUMAN)


def camel_call(tool: str, arguments: object, output: str) -> dict[str, object]:
    result = {"resultType": "success", "textResultForLlm": output}
    return {**CAMEL, "toolName": tool, "toolArgs": arguments, "toolResult": result}


def pascal_call(tool: str, arguments: object, output: str) -> dict[str, object]:
    result = {"result_type": "success", "text_result_for_llm": output}
    named = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": arguments}
    return {**PASCAL, **named, "tool_result": result}


def only_call(payload: dict[str, object], event: str = "") -> Call:
    step = decode(payload, event).step
    assert isinstance(step, ReturnCalls)
    assert step.whole_step
    (call,) = step.calls
    return call


@pytest.mark.parametrize(
    ("event", "payload", "step"),
    [
        ("sessionStart", {**CAMEL, "source": "new"}, StartSession("startup", **START)),
        ("SessionStart", {**PASCAL, "source": "new"}, StartSession("startup", **START)),
        ("sessionStart", {**CAMEL, "source": "resume"}, StartSession("resume", **START)),
        ("sessionStart", CAMEL, StartSession("startup", **START)),
        ("userPromptSubmitted", {**CAMEL, "prompt": "mend it"}, PROMPT),
        ("UserPromptSubmit", {**PASCAL, "prompt": "mend it"}, PROMPT),
        ("userPromptSubmitted", {**CAMEL_CHILD, "prompt": "look"}, None),
        ("UserPromptSubmit", {**PASCAL_CHILD, "prompt": "look"}, None),
        ("agentStop", CAMEL, EndTurn("stop")),
        ("Stop", {**PASCAL, "stop_hook_active": True}, EndTurn("stop")),
        ("agentStop", CAMEL_CHILD, None),
        ("Stop", PASCAL_CHILD, None),
        ("sessionEnd", {**CAMEL, "reason": "user_exit"}, EndSession("user_exit")),
        ("SessionEnd", PASCAL, EndSession("other")),
        ("preToolUse", {**CAMEL, "toolName": "bash"}, None),
        ("errorOccurred", CAMEL, None),
        ("somethingNew", CAMEL, None),
        ("", CAMEL, None),
    ],
)
def test_both_spellings_mean_the_same(event: str, payload: dict[str, object], step: object) -> None:
    command = decode(payload, event)

    assert command.step == step
    assert (command.event, command.cwd) == (event, "/p")


def test_the_event_in_a_payload_goes_before_the_registrations() -> None:
    payload = {**PASCAL, "hook_event_name": "Stop"}
    assert decode(payload, "SessionStart").step == EndTurn("stop")


@pytest.mark.parametrize(
    ("event", "payload", "step"),
    [
        ("subagentStart", {**CAMEL, "agentName": "explore"}, StartSession("sub_agent", agent_type="explore")),
        ("SubagentStart", {**CAMEL, "agentName": "explore"}, StartSession("sub_agent", agent_type="explore")),
        ("subagentStop", CAMEL, EndSession("stop")),
        ("SubagentStop", CAMEL, EndSession("stop")),
    ],
)
def test_what_is_told_of_a_sub_agent_carries_its_parents_session(
    event: str, payload: dict[str, object], step: object
) -> None:
    named = {"agentId": "child", "parentAgentId": "s"}
    command = decode({**payload, **named}, event)

    assert command.key == SessionKey("copilot", "s", "child")
    assert command.step == step
    assert decode(payload, event).step is None


@pytest.mark.parametrize("payload", [camel_call("bash", {}, ""), pascal_call("Bash", {}, "")])
def test_a_sub_agents_own_calls_are_its_own(payload: dict[str, object]) -> None:
    child = CAMEL_CHILD if "toolName" in payload else PASCAL_CHILD
    assert decode({**payload, **child}, "postToolUse").key == SessionKey("copilot", "s", "child")


@pytest.mark.parametrize(
    ("own", "claudes", "kind"),
    [
        ("bash", "Bash", CallKind.SHELL),
        ("create", "Write", CallKind.EDIT),
        ("edit", "Edit", CallKind.EDIT),
        ("glob", "Glob", CallKind.SEARCH),
        ("grep", "Grep", CallKind.SEARCH),
        ("task", "Agent", CallKind.AGENT),
        ("view", "Read", CallKind.READ),
        ("lab-alpha", "lab-alpha", CallKind.MCP),
        ("some_tool", "some_tool", CallKind.OTHER),
    ],
)
def test_a_call_is_the_same_in_both_spellings(own: str, claudes: str, kind: CallKind) -> None:
    arguments = {"path": "/p/a", "new_str": "x"}
    call = only_call(camel_call(own, arguments, "fine"), "postToolUse")

    assert (call.tool, call.kind, call.target) == (own, kind, "/p/a")
    assert only_call(pascal_call(claudes, arguments, "fine")) == call


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("bash", ""),
        ("lab-alpha", "lab"),
        ("github-mcp-server-get_file_contents", "github-mcp-server"),
        ("-odd", ""),
    ],
)
def test_a_server_is_read_from_its_tools_name(tool: str, server: str) -> None:
    assert only_call(camel_call(tool, {}, ""), "postToolUse").server == server


@pytest.mark.parametrize(
    ("output", "status", "exit_code"),
    [
        ("hi\n<shellId: 0 completed with exit code 0>", CallStatus.OK, 0),
        ("bad\n<shellId: 1 completed with exit code 3>", CallStatus.FAILED, 3),
        ("bad\n<exited with exit code 127>", CallStatus.FAILED, 127),
        ("<shellId: 1 completed with exit code 3>", CallStatus.FAILED, 3),
        ("<shellId: 1 completed with exit code 3>\nshown by cat", CallStatus.OK, None),
        ("<command with shellId: 2 is still running after 30 seconds>", CallStatus.OK, None),
        ("", CallStatus.OK, None),
    ],
)
def test_the_last_line_of_an_output_tells_the_exit_code(
    output: str, status: CallStatus, exit_code: int | None
) -> None:
    call = only_call(camel_call("bash", {"command": "x"}, output), "postToolUse")
    assert (call.command, call.status, call.exit_code) == ("x", status, exit_code)


def test_what_a_file_says_is_no_exit_code() -> None:
    call = only_call(camel_call("view", {}, "<shellId: 1 completed with exit code 3>"), "postToolUse")
    assert (call.status, call.exit_code) == (CallStatus.OK, None)


def test_a_failed_call_has_its_error_as_output() -> None:
    payload = {**CAMEL, "toolName": "view", "toolArgs": {"path": "/p/a"}, "error": "Path does not exist"}
    call = only_call(payload, "postToolUseFailure")
    assert (call.status, call.output, call.exit_code) == (CallStatus.FAILED, "Path does not exist", None)


def test_a_call_is_told_from_others_by_its_hooks_time_and_nothing_of_its_arguments_is_in_its_id() -> None:
    call = only_call(camel_call("bash", {"command": "TOKEN=abc run"}, ""), "postToolUse")
    later = only_call(
        {**camel_call("bash", {"command": "TOKEN=abc run"}, ""), "timestamp": TIME_MS + 1}, "postToolUse"
    )

    assert call.call_id != later.call_id
    assert "abc" not in call.call_id


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"sessionId": ""},
        {"sessionId": 1},
        {"sessionId": "s", "timestamp": 1},
        {"sessionId": "s", "toolName": "bash"},
        {"sessionId": "s", "toolName": "bash", "timestamp": "yesterday"},
    ],
)
def test_a_call_that_cannot_be_told_apart_is_refused(payload: dict[str, object]) -> None:
    with pytest.raises(BadPayload):
        decode(payload, "postToolUse")


values = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just({"a": [1]})
names = st.sampled_from(
    ["sessionId", "session_id", "agentId", "toolName", "tool_name", "toolArgs", "toolResult", "timestamp"]
)


@given(st.dictionaries(names, values), st.sampled_from(["postToolUse", "SessionStart", "agentStop", "x"]))
def test_any_fields_are_read_or_refused(payload: dict[str, object], event: str) -> None:
    try:
        decode(payload, event)
    except BadPayload:
        return


EXPECTED = {
    "SessionStart": "StartSession startup",
    "sessionStart": "StartSession startup",
    "sessionStart.resume": "StartSession resume",
    "UserPromptSubmit": "SubmitPrompt",
    "userPromptSubmitted": "SubmitPrompt",
    "PostToolUse.Agent": "ReturnCalls task agent ok",
    "PostToolUse.Bash": "ReturnCalls bash shell ok",
    "PostToolUse.lab_alpha": "ReturnCalls lab-alpha mcp ok",
    "PostToolUseFailure.Read": "ReturnCalls view read failed",
    "postToolUse.bash": "ReturnCalls bash shell ok",
    "postToolUse.bash.exit3": "ReturnCalls bash shell failed",
    "postToolUse.create": "ReturnCalls create edit ok",
    "postToolUse.lab_alpha": "ReturnCalls lab-alpha mcp ok",
    "postToolUse.task": "ReturnCalls task agent ok",
    "postToolUseFailure.lab_beta": "ReturnCalls lab-beta mcp failed",
    "postToolUseFailure.view": "ReturnCalls view read failed",
    "Stop": "EndTurn stop",
    "agentStop": "EndTurn stop",
    "SubagentStart": "StartSession sub_agent of a sub-agent",
    "subagentStart": "StartSession sub_agent of a sub-agent",
    "SubagentStop": "EndSession stop of a sub-agent",
    "subagentStop": "EndSession stop of a sub-agent",
    "SessionEnd": "EndSession complete",
    "sessionEnd": "EndSession complete",
    "sessionEnd.error": "EndSession error",
    "sessionEnd.user_exit": "EndSession user_exit",
}
"""Every other recorded payload is known and need not be stored."""


@pytest.mark.skipif(not RECORDED, reason=NO_RECORDINGS)
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
@pytest.mark.parametrize("registration", ["copilot", "claude_code"])
def test_a_recorded_payload_means_what_it_should(path: Path, registration: str) -> None:
    data = path.read_bytes()
    host, command = intake.decode(data, registration, path.name.partition(".")[0])

    assert host.NAME == "copilot"
    assert command.cwd == json.loads(data)["cwd"]
    assert in_words(command.step, command.key.agent_id) == EXPECTED.get(path.stem, "")


def in_words(step: object, agent_id: str) -> str:
    if step is None:
        return ""
    if isinstance(step, ReturnCalls):
        (call,) = step.calls
        words = [call.tool, call.kind.value, call.status.value]
    else:
        words = [str(getattr(step, name)) for name in ("source", "reason") if hasattr(step, name)]
    return " ".join([type(step).__name__, *words, *(["of a sub-agent"] if agent_id else [])])
