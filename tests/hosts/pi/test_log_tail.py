from __future__ import annotations

import json

import pytest

from tokeneconomizer.hosts.pi.log_tail import calls_of_turn


def entry(entry_id: str, **message: object) -> bytes:
    return json.dumps({"type": "message", "id": entry_id, "message": message}).encode()


def turn(prompt_id: str, *call_ids: str) -> list[bytes]:
    lines = [entry(prompt_id, role="user", content="go on")]
    for call_id in call_ids:
        block = {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": "ls"}}
        lines += [
            entry(f"a-{call_id}", role="assistant", content=[block]),
            entry(f"r-{call_id}", role="toolResult", toolCallId=call_id, toolName="bash", content="x"),
        ]
    return lines


TAIL = b"\n".join([b'"cut off', *turn("p1", "c1"), b"no JSON", *turn("p2", "c2", "c3"), *turn("p3", "c4")])


@pytest.mark.parametrize(
    ("prompt_id", "calls"),
    [("p1", ["c1"]), ("p2", ["c2", "c3"]), ("p3", ["c4"]), ("p4", []), ("", [])],
)
def test_the_calls_that_follow_a_prompt_are_found(prompt_id: str, calls: list[str]) -> None:
    assert [call.call_id for call in calls_of_turn(TAIL, prompt_id)] == calls
