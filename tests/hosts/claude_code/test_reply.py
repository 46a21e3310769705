"""Claude Code's replies (S2.2, S2.3, S4.7)."""

from __future__ import annotations

import json

import pytest

from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.hosts.claude_code.reply import CONTEXT_CHARACTERS_MAX, encode, hides_hints


@pytest.mark.parametrize("event", ["SessionStart", "PostToolBatch", "Stop", "SomethingNew"])
def test_saying_nothing_is_an_empty_object(event: str) -> None:
    assert encode(event, NOTHING) == b"{}"


def test_nothing_at_all_is_printed_for_a_compaction_because_it_would_become_instructions() -> None:
    assert encode("PreCompact", Decision(context="x", hint="y")) == b""


def test_context_names_its_own_event_exactly() -> None:
    assert json.loads(encode("PostToolBatch", Decision(context="try otherwise"))) == {
        "hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": "try otherwise"}
    }


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreToolUse"])
def test_context_is_kept_from_events_where_it_would_prolong_the_turn(event: str) -> None:
    assert encode(event, Decision(context="x")) == b"{}"


def test_a_hint_is_for_the_user_alone() -> None:
    reply = json.loads(encode("PostToolBatch", Decision(hint="本轮仍在原地打转")))

    assert reply == {"systemMessage": "本轮仍在原地打转"}


def test_context_stays_within_what_the_agent_sends_whole() -> None:
    reply = json.loads(encode("PostToolBatch", Decision(context="x" * (CONTEXT_CHARACTERS_MAX + 1))))

    assert len(reply["hookSpecificOutput"]["additionalContext"]) == CONTEXT_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("tail", "hidden"),
    [
        (b"", True),
        (b'{"version":"2.1.309"}', True),
        (b'{"version":"2.1.310"}', False),
        (b'{"version":"2.0.99"}\n{"version": "2.1.332"}', False),
        (b'{"version":"1.9"}', True),
        (b"\xff\x00 no json", True),
    ],
)
def test_hints_are_hidden_by_versions_older_than_those_seen_to_show_them(tail: bytes, hidden: bool) -> None:
    assert hides_hints(tail) is hidden
