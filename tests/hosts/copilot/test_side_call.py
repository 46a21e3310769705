"""The command line that asks through Copilot CLI, and what is removed afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.copilot import side_call
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.side_call import Answer, Question

QUESTION = Question("instructions", "the digest é \ud83d")


def test_the_call_has_no_tools_and_its_text_is_on_stdin_alone() -> None:
    line = side_call.command_line(QUESTION)

    assert line.program == "copilot"
    assert line.arguments[line.arguments.index("--available-tools") + 1] == "none"
    assert "--no-custom-instructions" in line.arguments
    assert line.stdin.decode() == "instructions\n\nthe digest é ?"
    assert not any("digest" in argument or argument == "instructions" for argument in line.arguments)


def test_its_session_is_its_own_and_removed() -> None:
    first, second = side_call.command_line(QUESTION), side_call.command_line(QUESTION)
    homes = AgentHomes(Path("/home/dev"), {})
    moved = AgentHomes(Path("/home/dev"), {"COPILOT_HOME": "/elsewhere"})

    assert first.arguments[-1] != second.arguments[-1]
    assert side_call.leftovers(first, b"", homes).folders == (
        Path("/home/dev/.copilot/session-state") / first.arguments[-1],
    )
    assert side_call.leftovers(first, b"", moved).folders == (
        Path("/elsewhere/session-state") / first.arguments[-1],
    )


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (b'{"verdict": "stuck"}\n\n', Answer('{"verdict": "stuck"}', "", None)),
        (b"", None),
        (b" \n", None),
    ],
)
def test_what_is_printed_is_the_answer(output: bytes, answer: Answer | None) -> None:
    assert side_call.answer_in(output) == answer


@given(st.binary())
def test_nothing_that_is_printed_breaks_the_reading(printed: bytes) -> None:
    side_call.answer_in(printed)
