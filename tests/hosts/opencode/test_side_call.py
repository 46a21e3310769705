"""The command line that asks through opencode, the answer in what it prints, and what is removed (S2.9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.opencode import side_call
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, Leftovers, Question

LINE = side_call.command_line(Question("instructions", "the digest é"))
HOMES = AgentHomes(Path("/home/dev"))

TEXT = {"type": "text", "sessionID": "ses_1", "part": {"text": "words"}}
FINISH = {"type": "step_finish", "sessionID": "ses_1", "part": {"cost": 0.0004}}
FAILURE = {"type": "error", "sessionID": "ses_1", "error": {"name": "APIError"}}


def printed(*events: object) -> bytes:
    return "\n".join(json.dumps(event) for event in events).encode()


def test_the_call_has_no_tools_and_no_plugins_and_its_text_is_on_stdin_alone() -> None:
    configuration = json.loads(LINE.environment["OPENCODE_CONFIG_CONTENT"])
    assert LINE.program == "opencode"
    assert LINE.arguments[:2] == ("run", "--pure")
    assert LINE.arguments[LINE.arguments.index("--agent") + 1] in configuration["agent"]
    (agent,) = configuration["agent"].values()
    assert agent == {"mode": "primary", "prompt": "instructions", "tools": {"*": False}}
    assert configuration["permission"] == {"*": "deny"}
    assert LINE.stdin.decode() == "the digest é"
    assert not any("digest" in argument for argument in LINE.arguments)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (printed({"type": "step_start", "sessionID": "ses_1"}, TEXT, FINISH), Answer("words", "", 0.0004)),
        (printed(TEXT, TEXT), Answer("words\nwords", "", None)),
        (printed(FAILURE), Answer("", "", None)),
        (b"Error: no model\n", None),
        (b"", None),
    ],
)
def test_the_answer_is_read_from_the_events(output: bytes, answer: Answer | None) -> None:
    assert side_call.answer_in(output) == answer


@pytest.mark.parametrize(
    ("output", "leftovers"),
    [
        (printed(TEXT), Leftovers(arguments=("session", "delete", "ses_1"))),
        (printed(TEXT) + b"\n{half", Leftovers(arguments=("session", "delete", "ses_1"))),
        (printed(FAILURE), Leftovers(arguments=("session", "delete", "ses_1"))),
        (printed({**TEXT, "sessionID": "--all"}), NO_LEFTOVERS),
        (b"Error: no model\n", NO_LEFTOVERS),
    ],
)
def test_the_session_is_deleted_whatever_came_of_it(output: bytes, leftovers: Leftovers) -> None:
    assert side_call.leftovers(LINE, output, HOMES) == leftovers


@given(st.binary())
def test_nothing_that_is_printed_breaks_the_reading(output: bytes) -> None:
    side_call.answer_in(output)
    side_call.leftovers(LINE, output, HOMES)
