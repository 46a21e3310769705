"""The last lines of a rollout, as a hook call reads them."""

from __future__ import annotations

import json

import pytest
from codex_rollouts import CHILD, TURN, Line, answered, asked, completed, event, header, item, turn
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import ReturnCalls, StartCall
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.codex.log_tail import calls_of_turn, settled
from tokeneconomizer.hosts.codex.payload import decode

OTHER_TURN = "019a0000-3500-7000-8000-00000000000d"
LONG = "Chunk ID: 1\nWall time: 0.3 seconds\nProcess running with session ID 7\nOutput:\nstart\n"


def raw(*lines: Line) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def shell_hook(response: str = "") -> dict[str, object]:
    return {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "turn_id": TURN,
        "tool_name": "Bash",
        "tool_input": {"command": "x"},
        "tool_use_id": "call_1",
        "tool_response": response,
    }


def ran(
    call_id: str = "call_1", exit_code: int | None = 0, status: str = "completed", **more: object
) -> Line:
    told = {"id": call_id, "command": ["bash", "-lc", "x"], "exit_code": exit_code, "status": status}
    return completed("CommandExecution", **(told | {"aggregated_output": "all of it"} | more))


@pytest.mark.parametrize(
    ("line", "status", "exit_code", "output"),
    [
        (ran(exit_code=3, status="failed"), CallStatus.FAILED, 3, "all of it"),
        (ran(), CallStatus.OK, 0, "all of it"),
        (ran(aggregated_output=""), CallStatus.OK, 0, "a piece"),
        (ran(exit_code=None, status="declined"), CallStatus.NEVER_RAN, None, "all of it"),
        (event("exec_command_end", call_id="call_1", exit_code=1, stdout="x"), CallStatus.FAILED, 1, "x"),
        (ran("call_2", exit_code=3), CallStatus.OK, None, "a piece"),
        (answered("call_1", "Process exited with code 3"), CallStatus.OK, None, "a piece"),
    ],
)
def test_the_rollout_settles_how_a_command_ended(
    line: Line, status: CallStatus, exit_code: int | None, output: str
) -> None:
    step = settled(decode(shell_hook("a piece"), ""), b"cut\n" + raw(line)).step

    assert isinstance(step, ReturnCalls)
    assert [(call.status, call.exit_code, call.output) for call in step.calls] == [
        (status, exit_code, output)
    ]


def test_the_newest_event_of_a_call_counts() -> None:
    step = settled(decode(shell_hook(), ""), raw(ran(exit_code=1), ran(exit_code=0))).step

    assert isinstance(step, ReturnCalls)
    assert step.calls[0].exit_code == 0


def test_a_command_that_brings_no_calls_stays_as_it_is() -> None:
    started = decode({**shell_hook(), "hook_event_name": "PreToolUse"}, "")

    assert settled(started, raw(ran())) == started
    assert isinstance(started.step, StartCall)


WITHOUT_A_HOOK = [
    *turn(),
    asked("call_1", "exec_command", '{"bad": 1}'),
    answered("call_1", "failed to parse function arguments: missing field `cmd`"),
    asked("call_2", "no_such_tool"),
    answered("call_2", "unsupported call: no_such_tool"),
    asked("call_3", "view_image", '{"path": "/no.png"}'),
    answered("call_3", "unable to locate image at `/no.png`: No such file"),
    asked("call_4", "beta", "{}", namespace="mcp__demo"),
    completed("McpToolCall", id="call_4", server="demo", tool="beta", status="failed", result={}),
    answered("call_4", "no"),
    item("custom_tool_call", name="apply_patch", call_id="call_5", input="*** Update File: a\n"),
    item("custom_tool_call_output", call_id="call_5", output="apply_patch verification failed: x"),
]


def test_calls_that_have_no_hook_are_found_with_how_they_ended() -> None:
    found = calls_of_turn(b"cut in the mid" + raw(header()) + raw(*WITHOUT_A_HOOK), TURN)

    assert [(call.call_id, call.status) for call in found] == [
        ("call_1", CallStatus.NEVER_RAN),
        ("call_2", CallStatus.NEVER_RAN),
        ("call_3", CallStatus.FAILED),
        ("call_4", CallStatus.FAILED),
        ("call_5", CallStatus.FAILED),
    ]


@pytest.mark.parametrize(
    ("lines", "calls", "is_whole"),
    [
        ([ran()], ["call_1"], True),
        ([asked("call_2", "get_goal"), ran()], ["call_1"], False),
        (
            [asked("call_2", "a"), answered("call_2", "unsupported call: a"), ran()],
            ["call_2", "call_1"],
            True,
        ),
        ([asked("call_2", "exec_command"), answered("call_2", LONG), ran()], ["call_1"], True),
        ([ran(), answered("call_1", "x"), asked("call_2", "a"), answered("call_2", "")], ["call_1"], True),
    ],
)
def test_calls_of_one_reply_are_one_step(lines: list[Line], calls: list[str], *, is_whole: bool) -> None:
    tail = raw(*turn(), asked("call_1", "exec_command", '{"cmd": "x"}'), *lines)
    step = settled(decode(shell_hook(), ""), tail).step

    assert isinstance(step, ReturnCalls)
    assert ([call.call_id for call in step.calls], step.whole_step) == (calls, is_whole)


def test_a_tail_that_begins_in_the_midst_of_the_turn_tells_the_rest_of_it() -> None:
    named = {"internal_chat_message_metadata_passthrough": {"turn_id": TURN}}
    tail = raw(
        answered("call_1", "whose call is cut off"),
        asked("call_2", "get_goal", **named),
        answered("call_2", "fine"),
    )

    assert [call.call_id for call in calls_of_turn(tail, TURN)] == ["call_2"]


def test_the_calls_of_other_turns_are_told_apart() -> None:
    tail = raw(
        *turn(), asked("call_1", "a"), answered("call_1", ""), *turn(OTHER_TURN), asked("call_2", "a"),
        answered("call_2", ""), asked("never back", "a"),
    )  # fmt: skip

    assert [call.call_id for call in calls_of_turn(tail, TURN)] == ["call_1"]
    assert [call.call_id for call in calls_of_turn(tail, OTHER_TURN)] == ["call_2"]


def test_a_command_that_goes_on_is_told_as_such() -> None:
    tail = raw(*turn(), asked("call_1", "exec_command", '{"cmd": "x"}'), answered("call_1", LONG))

    assert [call.background for call in calls_of_turn(tail, TURN)] == [True]


def test_a_header_in_the_midst_of_a_tail_hides_nothing() -> None:
    tail = raw(*turn(), header(CHILD, forked_from_id="x"), asked("call_1", "a"), answered("call_1", "fine"))

    assert [call.call_id for call in calls_of_turn(tail, TURN)] == ["call_1"]


@pytest.mark.parametrize("turn_id", ["", "of another turn", "\ud83d"])
def test_a_turn_that_is_not_in_the_tail_has_no_calls(turn_id: str) -> None:
    assert calls_of_turn(raw(*WITHOUT_A_HOOK), turn_id) == ()


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(tail: bytes) -> None:
    named = TURN.encode() + b"\n" + tail

    assert calls_of_turn(named, TURN) == ()
    assert settled(decode(shell_hook(), ""), b'call_1 _end"\n' + tail).key.session_id == "s"


@given(st.integers(min_value=2, max_value=len(WITHOUT_A_HOOK) - 1), st.binary(max_size=40))
def test_a_damaged_line_loses_only_itself(position: int, damage: bytes) -> None:
    lines = [raw(line) for line in WITHOUT_A_HOOK]
    lines[position] = damage.replace(b"\n", b"") + b"\n"

    assert len(calls_of_turn(b"".join(lines), TURN)) >= len(calls_of_turn(raw(*WITHOUT_A_HOOK), TURN)) - 1
