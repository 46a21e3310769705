from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.hosts.codex.payload import STORED_EVENTS
from tokeneconomizer.hosts.codex.reply import (
    CONTEXT_CHARACTERS_MAX,
    CONTEXT_EVENTS,
    MESSAGE_EVENTS,
    encode,
    hides_hints,
)
from tokeneconomizer.hosts.reply_context import nested_context_in

EVENTS = sorted(STORED_EVENTS | {"PreCompact"})


@pytest.mark.parametrize("event", EVENTS)
def test_nothing_to_say_is_an_empty_object(event: str) -> None:
    assert encode(event, NOTHING) == b"{}"


@pytest.mark.parametrize("event", EVENTS)
def test_context_is_given_where_it_is_taken_and_nowhere_else(event: str) -> None:
    reply = json.loads(encode(event, Decision(context="one line")))
    output = {"hookEventName": event, "additionalContext": "one line"}

    assert reply == ({"hookSpecificOutput": output} if event in CONTEXT_EVENTS else {})


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "SessionEnd", "PreCompact", "PostCompact"])
def test_an_end_is_answered_with_nothing_whatever_is_to_be_said(event: str) -> None:
    assert encode(event, Decision(context="x", hint="y", echo_hint=True)) == b"{}"


@given(
    event=st.sampled_from(EVENTS),
    decision=st.builds(Decision, context=st.text(), hint=st.text(), echo_hint=st.booleans()),
)
def test_a_reply_has_no_field_that_codex_does_not_know_and_never_decides(
    event: str, decision: Decision
) -> None:
    reply = json.loads(encode(event, decision))

    assert set(reply) <= {"hookSpecificOutput", "systemMessage"}
    assert set(reply.get("hookSpecificOutput", {})) <= {"hookEventName", "additionalContext"}
    assert ("systemMessage" in reply) is (bool(decision.hint) and event in MESSAGE_EVENTS)


def test_a_context_stays_below_what_codex_cuts() -> None:
    assert (
        len(nested_context_in(encode("SessionStart", Decision(context="x" * 20_000))))
        == CONTEXT_CHARACTERS_MAX
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_the_context_of_a_reply_is_read_back(context: str) -> None:
    assert nested_context_in(encode("PostToolUse", Decision(context=context))) == context


@pytest.mark.parametrize("reply", [b"", b"{}", b"[]", b'{"hookSpecificOutput": {"additionalContext": 3}}'])
def test_a_reply_without_context_has_none(reply: bytes) -> None:
    assert nested_context_in(reply) == ""


def test_the_model_is_not_asked_to_repeat_hints() -> None:
    assert not hides_hints(b"")
