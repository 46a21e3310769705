from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting.told import ToldContext
from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.hosts.pi import payload
from tokeneconomizer.scheduler import intake

FAILURE = "boom\n\n\nCommand exited with code 3"


def told(event: dict[str, object], **fields: object) -> dict[str, object]:
    """An event in the extension's envelope."""
    return {"session_id": "s-1", "session_file": "/s.jsonl", "cwd": "/work/project", "event": event, **fields}


def call(call_id: str, name: str, **arguments: object) -> dict[str, object]:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, name: str, text: str, *, is_error: bool = False) -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {
        "toolCallId": call_id,
        "toolName": name,
        "content": content,
        "isError": is_error,
        "durationMs": 20,
    }


def step(*pairs: tuple[dict[str, object], dict[str, object]], **fields: object) -> dict[str, object]:
    """A step that is over."""
    calls, results = [one for one, _ in pairs], [one for _, one in pairs]
    return {"type": "turn_end", "message": {"content": calls}, "toolResults": results, **fields}


USER = {"role": "user", "content": [{"type": "text", "text": "/skill:release now"}]}
USAGE = {"tokens": 1230, "contextWindow": 128_000}
STEPS = [
    ({"type": "session_start", "goesOn": False, "model": "m"}, StartSession("startup", "m")),
    ({"type": "session_start", "reason": "startup", "goesOn": True}, StartSession("resume")),
    (
        {"type": "message_end", "message": USER, "entryId": "ab12", "source": "interactive"},
        SubmitPrompt("ab12", "/skill:release now", PromptKind.HUMAN, skills_named=("release",)),
    ),
    (
        {"type": "message_end", "message": USER, "entryId": "ab12", "source": "extension"},
        SubmitPrompt("ab12", "/skill:release now", PromptKind.MACHINE),
    ),
    ({"type": "message_end", "message": {"role": "assistant", "content": []}}, None),
    ({"type": "agent_settled", "aborted": False, "outcome": "completed"}, EndTurn("stop")),
    ({"type": "agent_settled", "aborted": False, "outcome": "error"}, EndTurn("error")),
    ({"type": "agent_settled", "aborted": True}, EndTurn("no_stop")),
    (
        {"type": "agent_settled", "provider": "lab", "usage": USAGE},
        EndTurn("stop", ToldContext("lab", used_tokens=1230, window_tokens=128_000)),
    ),
    (
        {"type": "session_compact", "reason": "manual", "compactionEntry": {"summary": "short"}},
        Compact("manual", 5),
    ),
    ({"type": "session_shutdown", "reason": "quit"}, EndSession("quit")),
    ({"type": "session_shutdown", "reason": "reload"}, None),
    ({"type": "turn_end", "message": {"content": []}, "toolResults": []}, None),
    ({"type": "tool_call", "toolName": "bash"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("event", "expected"), STEPS)
def test_an_event_is_the_step_that_it_tells(event: dict[str, object], expected: object) -> None:
    command = payload.decode(told(event), "")
    assert command.step == expected
    assert command.key == SessionKey("pi", "s-1")
    assert (command.event, command.cwd, command.transcript) == (event["type"], "/work/project", "/s.jsonl")


def test_a_step_holds_all_its_calls_and_how_each_ended() -> None:
    event = step(
        (call("c1", "bash", command="make"), result("c1", "bash", FAILURE, is_error=True)),
        (call("c2", "read", path="a.txt"), result("c2", "read", "alpha")),
        (call("c3", "nosuch"), result("c3", "nosuch", "Tool nosuch not found", is_error=True)),
        (call("c4", "mcp__issues__list"), result("c4", "mcp__issues__list", "none")),
        (call("c5", "edit", path="a"), result("c5", "edit", "blocked by a policy", is_error=True)),
        ran=["c1", "c2", "c4"],
    )
    returned = payload.decode(told(event), "").step

    assert isinstance(returned, ReturnCalls)
    assert returned.whole_step
    assert [(one.tool, one.kind, one.status, one.exit_code) for one in returned.calls] == [
        ("bash", CallKind.SHELL, CallStatus.FAILED, 3),
        ("read", CallKind.READ, CallStatus.OK, None),
        ("nosuch", CallKind.OTHER, CallStatus.NEVER_RAN, None),
        ("mcp__issues__list", CallKind.MCP, CallStatus.OK, None),
        ("edit", CallKind.EDIT, CallStatus.NEVER_RAN, None),
    ]
    assert [one.server for one in returned.calls] == ["", "", "", "issues", ""]
    assert {one.duration_ms for one in returned.calls} == {20}
    assert returned.calls[0].output == FAILURE


def test_a_text_that_looks_like_a_refusal_is_a_failure_where_the_tool_ran() -> None:
    refused = result("c1", "grep", "Tool x not found", is_error=True)
    event = step((call("c1", "grep"), refused), ran=["c1"])
    returned = payload.decode(told(event), "").step
    assert isinstance(returned, ReturnCalls)
    assert returned.calls[0].status is CallStatus.FAILED


def test_the_tools_of_the_first_request_come_with_its_prompt() -> None:
    tools = [{"name": "bash", "characters": 500}, {"name": "mcp__issues__list"}, {"name": ""}, "no tool"]
    event = {"type": "message_end", "message": USER, "entryId": "ab12", "tools": tools}
    assert payload.decode(told(event), "").offered == (
        OfferedTool("bash", characters=500),
        OfferedTool("mcp__issues__list", "issues"),
    )


def test_a_payload_without_a_session_is_refused() -> None:
    with pytest.raises(BadPayload):
        payload.decode({"event": {"type": "session_start"}}, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=10,
)
NAMES = ("message", "toolResults", "ran", "tools", "usage", "compactionEntry", "reason", "aborted", "source")


@given(
    name=st.sampled_from(sorted(payload._DECODERS)),  # noqa: SLF001 - every event that is stored
    fields=st.dictionaries(st.sampled_from(NAMES), JSON),
)
def test_whatever_an_event_holds_is_read_or_refused(name: str, fields: dict[str, object]) -> None:
    host, command = intake.decode(json.dumps(told({"type": name, **fields})).encode(), "pi", "")
    assert host.NAME == "pi"
    assert replace(command, step=None).event == name
