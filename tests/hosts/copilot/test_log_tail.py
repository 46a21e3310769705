"""The end of a session's log, as a hook call reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import HookCommand, ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.copilot.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.copilot.payload import decode

MINUTE_MS = 60_000
BEGAN_MS = 1_767_603_600_000
"""2026-01-05, 9:00: each line comes a minute after the one before."""


def tail(*events: tuple[str, dict[str, object]], agent_id: str = "") -> bytes:
    about = {"agentId": agent_id} if agent_id else {}
    times = [f"2026-01-05T09:{minute:02}:00.000Z" for minute in range(len(events))]
    lines = [
        json.dumps({"type": kind, "data": data, "id": f"e-{at}", "timestamp": at, **about})
        for at, (kind, data) in zip(times, events, strict=True)
    ]
    return "\n".join(lines).encode()


def prompt(text: str = "mend it") -> tuple[str, dict[str, object]]:
    return "user.message", {"content": text}


def asks(call_id: str, tool: str = "bash", **named: str) -> tuple[str, dict[str, object]]:
    request = {"toolCallId": call_id, "name": tool, "arguments": {"command": f"run {call_id}"}, **named}
    return "assistant.message", {"messageId": f"m-{call_id}", "toolRequests": [request]}


def refused(call_id: str) -> tuple[str, dict[str, object]]:
    error = {"message": "Denied by preToolUse hook: no", "code": "denied"}
    return "tool.execution_complete", {"toolCallId": call_id, "success": False, "error": error}


def failed(call_id: str) -> tuple[str, dict[str, object]]:
    error = {"message": "Path does not exist", "code": "failure"}
    return "tool.execution_complete", {"toolCallId": call_id, "success": False, "error": error}


def done(call_id: str) -> tuple[str, dict[str, object]]:
    return "tool.execution_complete", {"toolCallId": call_id, "success": True, "result": {"content": "fine"}}


def returned(tool: str = "bash", **fields: str) -> HookCommand:
    payload = {
        "sessionId": "s",
        "timestamp": BEGAN_MS,
        "toolName": tool,
        "toolArgs": {"command": "run b"},
        "toolResult": {"textResultForLlm": "fine"},
        **fields,
    }
    return decode(payload, "postToolUse")


TURN = tail(prompt(), asks("a"), refused("a"), asks("b"), done("b"), asks("c"), failed("c"), asks("d"))


def ids(log: bytes, prompt_id: str) -> list[str]:
    return [call.call_id for call in calls_of_turn(log, prompt_id)]


def test_only_calls_that_never_ran_are_told_since_all_others_had_hooks() -> None:
    (call,) = calls_of_turn(TURN, str(BEGAN_MS))
    assert (call.call_id, call.command, call.status) == ("a", "run a", CallStatus.NEVER_RAN)


@pytest.mark.parametrize(
    ("minute", "found"), [(0, ["a", "b"]), (1, ["a", "b"]), (2, ["b"]), (3, ["b"]), (5, [])]
)
def test_the_refused_calls_of_a_turn_are_those_since_its_prompt(minute: int, found: list[str]) -> None:
    log = tail(prompt(), asks("a"), refused("a"), asks("b"), refused("b"))
    assert ids(log, str(BEGAN_MS + minute * MINUTE_MS)) == found


def test_a_turn_ends_where_the_next_one_begins() -> None:
    log = tail(prompt(), asks("a"), refused("a"), prompt("and now?"), asks("b"), refused("b"))
    assert ids(log, str(BEGAN_MS)) == ["a"]
    assert ids(log, str(BEGAN_MS + 3 * MINUTE_MS)) == ["b"]


def test_a_sub_agents_refused_calls_are_its_own() -> None:
    log = TURN + b"\n" + tail(prompt(), asks("x"), refused("x"), agent_id="child")
    assert ids(log, "child") == ["x"]
    assert ids(log, str(BEGAN_MS)) == ["a"]


@pytest.mark.parametrize("prompt_id", ["", "no time", "\ud83d", "²"])
def test_a_prompt_that_is_not_in_the_tail_has_no_calls(prompt_id: str) -> None:
    assert ids(TURN, prompt_id) == []


@pytest.mark.parametrize(
    ("log", "server"),
    [
        (b"", "my"),
        (tail(asks("a", "my-server-look")), "my"),
        (tail(asks("a", "my-server-look", mcpServerName="my-server")), "my-server"),
        (tail(asks("a", "my-server-else", mcpServerName="my-server")), "my"),
    ],
)
def test_the_log_tells_a_servers_whole_name(log: bytes, server: str) -> None:
    step = settled(returned("my-server-look"), log).step
    assert isinstance(step, ReturnCalls)
    assert step.calls[0].server == server


def test_steps_without_calls_are_left_alone() -> None:
    command = decode({"sessionId": "s", "timestamp": 1, "prompt": "x"}, "userPromptSubmitted")
    assert settled(command, TURN) is command


@given(st.lists(st.binary(max_size=60) | st.just(b'{"success": false} "tool.execution_complete"')))
def test_any_bytes_are_read_without_an_error(lines: list[bytes]) -> None:
    tail = b"\n".join(lines)
    assert calls_of_turn(tail, str(BEGAN_MS)) == calls_of_turn(tail, "child") == ()
    assert settled(returned("my-look"), tail) is not None
