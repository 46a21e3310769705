"""Copilot CLI's replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.hosts.copilot.reply import CONTEXT_CHARACTERS_MAX, context_in, encode, hides_hints


@pytest.mark.parametrize("event", ["sessionStart", "postToolUse", "PostToolUse", "agentStop", "", "new"])
def test_saying_nothing_is_an_empty_object(event: str) -> None:
    assert encode(event, NOTHING) == b"{}"


@pytest.mark.parametrize("event", ["sessionStart", "SessionStart", "postToolUse", "PostToolUseFailure"])
def test_context_stands_at_the_top_level(event: str) -> None:
    assert json.loads(encode(event, Decision(context="otherwise"))) == {"additionalContext": "otherwise"}


@pytest.mark.parametrize("event", ["agentStop", "Stop", "preToolUse", "sessionEnd"])
def test_context_is_kept_from_events_where_it_reaches_nobody(event: str) -> None:
    assert encode(event, Decision(context="x")) == b"{}"


def test_a_hint_is_a_line_of_progress_before_the_object() -> None:
    progress, reply = encode("postToolUse", Decision(context="x", hint="本轮仍在\n原地打转")).split(b"\n")

    assert json.loads(progress) == {"type": "progress", "message": "本轮仍在\n原地打转"}
    assert json.loads(reply) == {"additionalContext": "x"}
    assert encode("agentStop", Decision(hint="y")).endswith(b"\n{}")


def test_context_stays_within_what_the_agent_sends_whole() -> None:
    reply = json.loads(encode("postToolUse", Decision(context="x" * (CONTEXT_CHARACTERS_MAX + 1))))
    assert len(reply["additionalContext"]) == CONTEXT_CHARACTERS_MAX


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_context_of_a_reply_is_read_back(context: str, hint: str) -> None:
    assert context_in(encode("sessionStart", Decision(context=context, hint=hint))) == context


@pytest.mark.parametrize("reply", [b"", b"{}", b"[]", b"{", b'{"additionalContext": 1}', b"\xff"])
def test_a_reply_without_context_has_none(reply: bytes) -> None:
    assert context_in(reply) == ""


def test_hints_are_shown() -> None:
    assert hides_hints(b"") is False
