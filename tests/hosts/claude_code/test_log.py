"""Claude Code's transcript as records, from lines reduced to what the reader looks at."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import PromptKind, ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.claude_code.log import calls_of_turn, read, settled
from tokeneconomizer.hosts.claude_code.payload import decode
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop, SkippedLine


def line(kind: str, content: object, **fields: object) -> bytes:
    message = {"role": kind, "content": content, **fields.pop("message", {})}  # type: ignore[dict-item]
    return json.dumps({"type": kind, "message": message, **fields}).encode()


def asks(call_id: str, message_id: str, command: str = "ls") -> bytes:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
    return line("assistant", [block], message={"id": message_id, "stop_reason": "tool_use"})


def result(call_id: str, text: str, *, is_error: bool = False) -> bytes:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
    return line("user", [block])


def says(text: str, message_id: str) -> bytes:
    return line(
        "assistant", [{"type": "text", "text": text}], message={"id": message_id, "stop_reason": "end_turn"}
    )


def test_a_turn_is_a_prompt_its_steps_and_a_stop() -> None:
    records = list(read([line("user", "mend it"), asks("a", "m1"), result("a", "x"), says("done", "m2")]))

    assert [type(record) for record in records] == [LoggedPrompt, LoggedStep, LoggedStop]
    assert [record.line for record in records if not isinstance(record, LoggedStep)] == [1, 4]


def test_calls_of_one_message_are_one_step_also_when_results_are_logged_between_them() -> None:
    lines = [
        asks("a", "m1"),
        result("a", "x"),
        asks("b", "m1"),
        result("b", "y", is_error=True),
        asks("c", "m2"),
    ]

    (step,) = read(lines)
    assert isinstance(step, LoggedStep)
    assert [(call.call_id, call.status) for call in step.calls] == [
        ("a", CallStatus.OK), ("b", CallStatus.FAILED),
    ]  # fmt: skip
    assert (step.lines, step.last_line) == ((1, 3), 4)


@pytest.mark.parametrize(
    "not_a_prompt",
    [
        line("user", "a reminder", isMeta=True),
        line("user", "summary of before", isCompactSummary=True),
        line("user", "of a sub-agent", isSidechain=True),
        line("user", "<local-command-stdout>ok</local-command-stdout>"),
        line("user", "<command-name>/clear</command-name>"),
        line("user", "   "),
        line("system", "turn_duration"),
        b"",
    ],
)
def test_lines_that_nobody_typed_are_no_prompts(not_a_prompt: bytes) -> None:
    assert list(read([not_a_prompt])) == []


def test_a_finished_background_task_is_a_machine_prompt() -> None:
    (prompt,) = read([line("user", "<task-notification>\ndone")])

    assert isinstance(prompt, LoggedPrompt)
    assert prompt.kind is PromptKind.MACHINE


def test_an_interruption_ends_the_turn() -> None:
    (stop,) = read([line("user", [{"type": "text", "text": "[Request interrupted by user]"}])])

    assert stop == LoggedStop(1, None, "no_stop")


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
    tail = b"" if is_error is None else result("a", output, is_error=is_error)
    step = settled(decode(batch, ""), b"cut\n" + tail).step

    assert isinstance(step, ReturnCalls)
    assert [(call.status, call.exit_code) for call in step.calls] == [(status, exit_code)]


def test_the_calls_of_one_prompt_are_told_apart_from_those_of_others() -> None:
    lines = [
        line("user", "one", promptId="p1"),
        asks("a", "m1"),
        result("a", "x"),
        line("user", "two", promptId="p2"),
        asks("b", "m2"),
        result("b", "y"),
        asks("never back", "m3"),
    ]
    tail = b"cut in the mid\n" + b"\n".join(lines)

    assert [call.call_id for call in calls_of_turn(tail, "p2")] == ["b"]
    assert [call.call_id for call in calls_of_turn(tail, "p1")] == ["a"]
    assert calls_of_turn(tail, "") == ()


def test_a_damaged_line_loses_only_itself() -> None:
    records = list(read([line("user", "one"), b'{"type": "user", "mess', b"\xff\x00", line("user", "two")]))

    assert [type(record) for record in records] == [LoggedPrompt, SkippedLine, SkippedLine, LoggedPrompt]


@given(st.lists(st.binary(max_size=60)))
def test_any_bytes_are_read_without_an_error(lines: list[bytes]) -> None:
    assert len(list(read(lines))) <= len(lines)
