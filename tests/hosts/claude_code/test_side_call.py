"""The command line that asks through Claude Code, and the answer in what it prints (S2.9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.claude_code import side_call
from tokeneconomizer.hosts.side_call import Answer, Question

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "words",
    "total_cost_usd": 0.0004,
    "modelUsage": {"claude-haiku-5-5": {"inputTokens": 12}},
}


def test_the_call_has_no_tools_no_hooks_and_no_log_and_its_text_is_on_stdin_alone() -> None:
    line = side_call.command_line(Question("instructions", "the digest é"))

    assert line.program == "claude"
    for flag in (
        "--safe-mode",
        "--no-session-persistence",
        "--strict-mcp-config",
        "--disable-slash-commands",
    ):
        assert flag in line.arguments
    assert line.arguments[line.arguments.index("--tools") + 1] == ""
    assert line.stdin.decode() == "the digest é"
    assert not any("digest" in argument for argument in line.arguments)


@pytest.mark.parametrize(
    ("changed", "answer"),
    [
        ({}, Answer("words", "claude-haiku-5-5", 0.0004)),
        ({"is_error": True, "result": "Credit balance is too low"}, Answer("", "claude-haiku-5-5", 0.0004)),
        ({"result": None}, Answer("", "claude-haiku-5-5", 0.0004)),
        ({"modelUsage": {}, "total_cost_usd": None}, Answer("words", "", None)),
        ({"type": "assistant"}, None),
    ],
)
def test_the_answer_is_read_from_the_result_object(changed: dict[str, object], answer: Answer | None) -> None:
    assert side_call.answer_in(json.dumps({**RESULT, **changed}).encode()) == answer


@given(st.binary() | st.dictionaries(st.sampled_from(sorted(RESULT)), st.text() | st.floats() | st.none()))
def test_nothing_that_is_printed_breaks_the_reading(printed: bytes | dict[str, object]) -> None:
    side_call.answer_in(printed if isinstance(printed, bytes) else json.dumps(printed).encode())
