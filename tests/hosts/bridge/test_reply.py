from __future__ import annotations

import json

import pytest

from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.hosts.bridge.reply import context_in, encode

CASES = [
    (NOTHING, {}),
    (Decision(context="look again"), {"context": "look again"}),
    (Decision(hint="停"), {"hint": "停"}),
    (Decision(context="a", hint="b", echo_hint=True), {"context": "a", "hint": "b"}),
    (Decision(context="half \ud800 a pair"), {"context": "half ? a pair"}),
]


@pytest.mark.parametrize(("decision", "said"), CASES)
def test_a_reply_holds_what_is_said_and_nothing_else(decision: Decision, said: dict[str, str]) -> None:
    reply = encode("tool_result", decision)
    assert json.loads(reply) == said
    assert context_in(reply) == said.get("context", "")


def test_a_reply_that_says_nothing_has_the_size_that_needs_no_confirmation() -> None:
    assert encode("tool_result", NOTHING) == b"{}"


@pytest.mark.parametrize("reply", [b"", b"{}", b"[]", b"1", b'{"context": 1}', b"\xff"])
def test_what_is_no_reply_of_ours_holds_no_context(reply: bytes) -> None:
    assert context_in(reply) == ""
