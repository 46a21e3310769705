"""What comes through our plugin and through `.claude/settings.json` too is stored and answered once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sessions import Telling

from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.decisions import NOTHING
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.domain.microskills import GivenBlock
from tokeneconomizer.scheduler import intake

if TYPE_CHECKING:
    from tokeneconomizer.domain.handle import Outcome

TIME_MS = 1_767_603_600_000
TIME_TEXT = "2026-01-05T09:00:00.000Z"
CAMEL = {"sessionId": "s", "timestamp": TIME_MS, "cwd": "/p"}
PASCAL = {"session_id": "s", "timestamp": TIME_TEXT, "cwd": "/p"}

START = ({**CAMEL, "source": "new"}, {**PASCAL, "hook_event_name": "SessionStart", "source": "new"})
PROMPT = ({**CAMEL, "prompt": "go"}, {**PASCAL, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
STOP = (CAMEL, {**PASCAL, "hook_event_name": "Stop"})
END = ({**CAMEL, "reason": "complete"}, {**PASCAL, "hook_event_name": "SessionEnd", "reason": "complete"})
CALL = (
    {**CAMEL, "toolName": "bash", "toolArgs": {"command": "ls"}, "toolResult": {"textResultForLlm": "a"}},
    {
        **PASCAL,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_result": {"text_result_for_llm": "a"},
    },
)
BOTH = {
    "sessionStart": START,
    "userPromptSubmitted": PROMPT,
    "postToolUse": CALL,
    "agentStop": STOP,
    "sessionEnd": END,
}
RULES = Rules(block_at=lambda _: GivenBlock("the facts", 1))


def tell(telling: Telling, event: str, payload: object, *, after_s: float) -> Outcome:
    registration = "copilot" if "sessionId" in json.dumps(payload) else "claude_code"
    _, command = intake.decode(json.dumps(payload).encode(), registration, event)
    return telling.tell(command.step, after_s=after_s)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    "events",
    [
        ["sessionStart", "userPromptSubmitted", "postToolUse", "agentStop", "sessionEnd"],
        ["userPromptSubmitted", "sessionStart", "postToolUse", "agentStop", "sessionEnd"],
    ],
)
def test_a_hook_that_comes_through_two_registrations_is_stored_once(first: int, events: list[str]) -> None:
    once, twice = (Telling(key=SessionKey("copilot", "s"), rules=RULES) for _ in range(2))
    for event in events:
        only = tell(once, event, BOTH[event][0], after_s=10)
        answers = [
            tell(twice, event, BOTH[event][which], after_s=after_s)
            for which, after_s in ((first, 9.9), (1 - first, 0.1))
        ]
        assert [answer.decision for answer in answers] == [only.decision, NOTHING]
    assert twice.topics() == once.topics()
    assert once.topics().count("tool_returned") == 1


@pytest.mark.parametrize("source", ["startup", "resume"])
def test_a_start_that_is_heard_after_its_prompt_leaves_the_turn_open_and_is_given_facts(source: str) -> None:
    telling = Telling(key=SessionKey("copilot", "s"), rules=RULES)
    if source == "resume":
        for event in ("sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd"):
            tell(telling, event, BOTH[event][0], after_s=10)
    tell(telling, "userPromptSubmitted", {**PROMPT[0], "prompt": "next"}, after_s=10)
    before = len(telling.events)
    given = tell(telling, "sessionStart", {**START[0], "source": source}, after_s=0.05)

    assert given.decision.context == "the facts"
    assert "turn_ended" not in telling.topics()[before:]
    assert telling.session is not None
    assert telling.session.turn.is_open
    assert telling.topics().count("started") == 1


def test_a_turn_that_was_left_open_long_ago_ends_with_the_next_start() -> None:
    telling = Telling(key=SessionKey("copilot", "s"), rules=RULES)
    tell(telling, "userPromptSubmitted", PROMPT[0], after_s=10)
    tell(telling, "sessionStart", {**START[0], "source": "resume"}, after_s=60)
    assert telling.topics()[-2:] == ["turn_ended", "resumed"]


def test_calls_side_by_side_are_each_stored() -> None:
    telling = Telling(key=SessionKey("copilot", "s"))
    tell(telling, "userPromptSubmitted", PROMPT[0], after_s=10)
    for later_ms in (0, 90):
        payload = {**CALL[0], "timestamp": TIME_MS + later_ms}
        outcome = tell(telling, "postToolUse", payload, after_s=0.1)
        assert outcome.session is not None
    assert telling.topics().count("tool_returned") == 2
