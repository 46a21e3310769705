from __future__ import annotations

import json

import pytest

from tokeneconomizer.hosts.pi.side_call import answer_in, command_line
from tokeneconomizer.hosts.side_call import Answer, Question


def reply(text: str, **fields: object) -> dict[str, object]:
    message = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "model": "small",
        "stopReason": "stop",
        "usage": {"cost": {"total": 0.25}},
        **fields,
    }
    return {"type": "message_end", "message": message}


PROMPT = {"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": "?"}]}}
ANSWERS = [
    ([PROMPT, reply("yes")], Answer("yes", "small", 0.25)),
    ([reply("first"), reply("second")], Answer("second", "small", 0.25)),
    ([reply("half", stopReason="error")], Answer("", "small", 0.25)),
    ([reply("free", usage={})], Answer("free", "small", None)),
    ([PROMPT], None),
    ([], None),
]


@pytest.mark.parametrize(("events", "answer"), ANSWERS)
def test_the_answer_is_the_last_reply(events: list[object], answer: Answer | None) -> None:
    assert answer_in(b"\n".join(json.dumps(event).encode() for event in events)) == answer


@pytest.mark.parametrize(
    "output", [b"", b"Error: no model", b"[1]\n{", b"\xff\xfe", b'{"type":"message_end"}']
)
def test_what_is_no_reply_is_no_answer(output: bytes) -> None:
    assert answer_in(output) is None


def test_the_digest_is_not_among_the_arguments() -> None:
    line = command_line(Question("You judge.", "the digest"))
    assert line.program == "pi"
    assert line.stdin == b"the digest"
    assert "the digest" not in line.arguments
    assert {"--no-tools", "--no-extensions", "--no-session"} <= set(line.arguments)
