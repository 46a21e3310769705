"""Claude Code's payloads, reduced from what 2.1.310 and 2.1.332 really send (S2.1, S2.3)."""

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
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.claude_code import payload as claude_code

COMMON = {
    "session_id": "75ea4ddd",
    "transcript_path": "/home/dev/.claude/projects/-home-dev-project/75ea4ddd.jsonl",
    "cwd": "/home/dev/project",
}


def decode(event: str, **fields: object):  # noqa: ANN201 - the step's type is what each test asks for
    return claude_code.decode({**COMMON, "hook_event_name": event, **fields}, "").step


@pytest.mark.parametrize(
    ("event", "fields", "step"),
    [
        ("SessionStart", {"source": "startup", "model": "m"}, StartSession("startup", model="m")),
        (
            "SessionStart",
            {
                "source": "resume",
                "seconds_since_last_response": 2,
                "context_tokens": 12415,
                "prompt_cache_likely_expired": False,
            },
            StartSession(
                "resume", seconds_since_last_response=2.0, context_tokens=12415, cache_expired=False
            ),
        ),
        (
            "UserPromptSubmit",
            {"prompt": "hello", "prompt_id": "p"},
            SubmitPrompt("p", "hello", PromptKind.HUMAN),
        ),
        (
            "UserPromptSubmit",
            {"prompt": "<task-notification>\n<task-id>a</task-id>", "prompt_id": "p"},
            SubmitPrompt("p", "<task-notification>\n<task-id>a</task-id>", PromptKind.MACHINE),
        ),
        ("Stop", {"last_assistant_message": "Done."}, EndTurn("stop")),
        ("StopFailure", {"error": "server_error", "error_details": "529 ..."}, EndTurn("server_error")),
        ("PostCompact", {"trigger": "manual", "compact_summary": "12345"}, Compact("manual", 5)),
        ("SessionEnd", {"reason": "clear"}, EndSession("clear")),
        (
            "SubagentStart",
            {"agent_id": "a", "agent_type": "Explore"},
            StartSession("sub_agent", agent_type="Explore"),
        ),
        ("SubagentStop", {"agent_id": "a", "agent_type": "Explore"}, EndSession("stop")),
        ("SubagentStop", {"agent_id": "a", "agent_type": ""}, None),
        ("Notification", {"message": "waiting"}, None),
        ("AnEventOfTomorrow", {}, None),
    ],
)
def test_each_event_becomes_its_neutral_step(event: str, fields: dict[str, object], step: object) -> None:
    assert decode(event, **fields) == step


def test_a_sub_agent_is_named_by_its_id_within_its_parents_session() -> None:
    command = claude_code.decode({**COMMON, "hook_event_name": "Stop", "agent_id": "a7"}, "")

    assert (command.key.session_id, command.key.agent_id) == ("75ea4ddd", "a7")


def batch(*calls: tuple[str, dict[str, object], object]) -> ReturnCalls:
    listed = [
        {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{n}", "tool_response": response}
        for n, (tool, given, response) in enumerate(calls)
    ]
    step = decode("PostToolBatch", tool_calls=listed)
    assert isinstance(step, ReturnCalls)
    return step


def test_a_batch_holds_every_call_of_the_step_and_completes_it() -> None:
    step = batch(("Bash", {"command": "echo hi"}, "hi"), ("Read", {"file_path": "/home/dev/a.py"}, "x = 1"))

    assert step.whole_step
    assert [(call.tool, call.kind, call.command, call.target) for call in step.calls] == [
        ("Bash", CallKind.SHELL, "echo hi", ""),
        ("Read", CallKind.READ, "", "/home/dev/a.py"),
    ]


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ("hi", CallStatus.OK),
        ("Exit code 1 is what the manual says", CallStatus.OK),
        ("Exit code 1\nboom", CallStatus.FAILED),
        ("Exit code 0\n", CallStatus.OK),
        ([{"type": "text", "text": "demo says alpha"}], CallStatus.OK),
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", CallStatus.NEVER_RAN),
        (
            "Claude requested permissions to read from /a, but you haven't granted it yet.",
            CallStatus.NEVER_RAN,
        ),
        ("PreToolUse:Bash hook error: no", CallStatus.NEVER_RAN),
    ],
)
def test_a_call_of_a_batch_without_a_failure_before_ran_unless_its_text_is_a_refusal(
    response: object, status: CallStatus
) -> None:
    (call,) = batch(("Bash", {"command": "x"}, response)).calls

    assert call.status is status


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [
        ("Exit code 2\nls: cannot access", 2),
        ("Exit code 143\nCommand timed out after 1s", 143),
        ("boom", None),
    ],
)
def test_a_failure_gives_its_exit_code_and_does_not_complete_the_step(
    error: str, exit_code: int | None
) -> None:
    step = decode(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "ls /x"},
        tool_use_id="t",
        error=error,
        is_interrupt=True,
        duration_ms=51,
    )

    assert isinstance(step, ReturnCalls)
    assert not step.whole_step
    (call,) = step.calls
    assert (call.status, call.exit_code, call.interrupted, call.duration_ms) == (
        CallStatus.FAILED, exit_code, True, 51,
    )  # fmt: skip


def test_an_unreadable_call_of_a_batch_costs_only_itself() -> None:
    step = decode(
        "PostToolBatch", tool_calls=[{"tool_name": "Bash"}, 7, {"tool_name": "Read", "tool_use_id": "t"}]
    )

    assert isinstance(step, ReturnCalls)
    assert [call.tool for call in step.calls] == ["Read"]


def test_mcp_tools_name_their_server() -> None:
    (call,) = batch(("mcp__demo__alpha", {"x": "1"}, "ok")).calls

    assert (call.kind, call.server) == (CallKind.MCP, "demo")


def test_a_prompt_names_tools_and_the_skill_it_opens_with() -> None:
    step = decode("UserPromptSubmit", prompt="/review:deep use WebFetch and mcp__demo__alpha, then read on")

    assert isinstance(step, SubmitPrompt)
    assert step.tools_named == ("WebFetch", "mcp__demo__alpha")
    assert step.skills_named == ("review:deep",)


def test_a_payload_without_a_session_is_refused_in_words() -> None:
    with pytest.raises(BadPayload, match="session_id"):
        claude_code.decode({"hook_event_name": "Stop"}, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.dictionaries(
    st.sampled_from([
        "session_id", "source", "prompt", "tool_calls", "tool_name", "tool_input", "tool_use_id", "agent_id",
        "agent_type", "error", "trigger", "compact_summary", "tool_response", "duration_ms", "context_tokens",
    ]),
    JSON,
)  # fmt: skip


@given(event=st.sampled_from(sorted(claude_code.STORED_EVENTS)), fields=FIELDS)
def test_whatever_the_fields_hold_only_our_own_error_is_raised(event: str, fields: dict[str, object]) -> None:
    try:
        command = claude_code.decode({**fields, "hook_event_name": event}, "")
    except BadPayload:
        return
    assert command.key.session_id
