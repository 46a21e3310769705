"""The context in any agent's reply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.hosts.reply_context import nested_context_in, text_at


@given(context=st.text())
def test_a_nested_context_is_found(context: str) -> None:
    reply = {
        "hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": context},
        "systemMessage": "x",
    }
    assert nested_context_in(json.dumps(reply).encode()) == context


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b'{"a": {}}',
        b'{"a": {"b": 1}}',
        b'{"a": "b"}',
        b'{"a": []}',
        b"[" * 99_999,
    ],
)
def test_a_reply_without_it_has_none(reply: bytes) -> None:
    assert text_at(reply, "a", "b") == ""


@given(reply=st.binary())
def test_no_reply_breaks_it(reply: bytes) -> None:
    assert isinstance(text_at(reply, "a"), str)
