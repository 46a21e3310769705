"""Lines of Claude Code's log, reduced to what its reader looks at."""

from __future__ import annotations

import json

SESSION = "s1"


def line(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, "sessionId": SESSION, "cwd": "/work/app", "version": "2.1.332"} | fields


def at(second: int) -> str:
    return f"2026-01-05T10:00:{second:02}.000Z"


def user(content: object, **fields: object) -> dict[str, object]:
    return line("user", message={"role": "user", "content": content}, **fields)


def reply(*blocks: dict[str, object], message_id: str = "m1", **fields: object) -> dict[str, object]:
    """Return a line of a reply; `model`, `stop_reason` and `usage` belong to its message."""
    own = {name: fields.pop(name) for name in ("model", "stop_reason", "usage") if name in fields}
    message = {"id": message_id, "role": "assistant", "model": "m", "content": list(blocks)} | own
    return line("assistant", message=message, **fields)


def asks(call_id: str, message_id: str = "m1", tool: str = "Bash", **fields: object) -> dict[str, object]:
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": {"command": "ls"}}
    return reply(block, message_id=message_id, **({"stop_reason": "tool_use"} | fields))


def result(call_id: str, text: str = "x", *, is_error: bool = False, **fields: object) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
    return user([block], **fields)


def says(text: str, message_id: str = "m2", **fields: object) -> dict[str, object]:
    return reply(
        {"type": "text", "text": text}, message_id=message_id, **({"stop_reason": "end_turn"} | fields)
    )


def raw(one: dict[str, object]) -> bytes:
    return json.dumps(one).encode()
