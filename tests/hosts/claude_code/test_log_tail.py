"""The last lines of a session's log, as a hook call reads them."""

from __future__ import annotations

import pytest
from claude_code_lines import asks, raw, result, user
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.claude_code.log_tail import calls_of_turn, read, settled
from tokeneconomizer.hosts.claude_code.payload import decode
from tokeneconomizer.hosts.records import LoggedPrompt, SkippedLine


@pytest.mark.parametrize(
    ("output", "is_error", "status", "exit_code"),
    [
        ("fine", False, CallStatus.OK, 0),
        ("<tool_use_error>as a text</tool_use_error>", False, CallStatus.OK, 0),
        ("some refusal of tomorrow", True, CallStatus.NEVER_RAN, None),
        ("Exit code 3\nboom", True, CallStatus.FAILED, 3),
        ("Exit code 3\nas a text", False, CallStatus.OK, 0),
        ("<tool_use_error>no line yet", None, CallStatus.NEVER_RAN, None),
    ],
)
def test_the_log_settles_what_a_text_only_looks_like(
    output: str,
    is_error: bool | None,
    status: CallStatus,
    exit_code: int | None,
) -> None:
    batch = {
        "hook_event_name": "PostToolBatch",
        "session_id": "s",
        "tool_calls": [
            {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "a", "tool_response": output}
        ],
    }
    tail = b"" if is_error is None else raw(result("a", output, is_error=is_error))
    step = settled(decode(batch, ""), b"cut\n" + tail).step

    assert isinstance(step, ReturnCalls)
    assert [(call.status, call.exit_code) for call in step.calls] == [(status, exit_code)]


def test_the_calls_of_one_prompt_are_told_apart_from_those_of_others() -> None:
    lines = [
        user("one", promptId="p1"),
        asks("a", "m1"),
        result("a", promptId="p1"),
        user("two", promptId="p2"),
        asks("b", "m2"),
        result("b", promptId="p2"),
        asks("never back", "m3"),
    ]
    tail = b"cut in the mid\n" + b"\n".join(raw(line) for line in lines)

    assert [call.call_id for call in calls_of_turn(tail, "p2")] == ["b"]
    assert [call.call_id for call in calls_of_turn(tail, "p1")] == ["a"]


@pytest.mark.parametrize("prompt_id", ["", "of another turn", "\ud83d"])
def test_a_prompt_that_is_not_in_the_tail_has_no_calls(prompt_id: str) -> None:
    tail = b"\n".join(raw(line) for line in (user("one"), asks("a"), result("a")))

    assert calls_of_turn(tail, prompt_id) == ()


def test_the_calls_of_a_prompt_that_is_cut_off_are_not_guessed() -> None:
    tail = b"\n".join(raw(line) for line in (asks("a"), result("a", promptId="p1")))

    assert calls_of_turn(tail, "p1") == ()


def test_a_damaged_line_loses_only_itself() -> None:
    records = list(read([raw(user("one")), b'{"type": "user", "mess', b"\xff\x00", raw(user("two"))]))

    assert [type(record) for record in records] == [LoggedPrompt, SkippedLine, SkippedLine, LoggedPrompt]


@given(st.lists(st.binary(max_size=60)))
def test_any_bytes_are_read_without_an_error(lines: list[bytes]) -> None:
    assert len(list(read(lines))) <= len(lines)
