"""Claude Code's hook payloads in the shape that the agent sends them, told in a word each."""

from __future__ import annotations

import json

CWD = "/home/dev/project"

FAILURE = "Exit code 1\nTraceback (most recent call last):\nValueError: total is 12.30, not 12.31"


def payload(event: str, /, **fields: object) -> bytes:
    """Any payload: the fields that all events share, and its own."""
    common = {
        "session_id": "session-1",
        "transcript_path": "/home/dev/.claude/projects/project/session-1.jsonl",
        "cwd": CWD,
        "hook_event_name": event,
    }
    return json.dumps({**common, **fields}).encode()


def prompt(text: str, **fields: object) -> bytes:
    return payload("UserPromptSubmit", **{"prompt": text, "prompt_id": "prompt-1", **fields})


def tool_call(call_id: str, tool: str, response: object, **arguments: object) -> dict[str, object]:
    """One call of a step."""
    return {"tool_name": tool, "tool_input": arguments, "tool_response": response, "tool_use_id": call_id}


def step(*calls: dict[str, object], **fields: object) -> bytes:
    """All calls of one model reply."""
    return payload("PostToolBatch", **{"tool_calls": list(calls), **fields})


def failed(call_id: str, command: str, error: str = FAILURE) -> bytes:
    """A shell call that failed."""
    return payload(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": command},
        tool_use_id=call_id,
        error=error,
        is_interrupt=False,
    )


def failing_step(call_id: str, command: str = "python -m unittest") -> tuple[bytes, bytes]:
    """A step of one failing shell call: its failure, then the whole step."""
    return failed(call_id, command), step(tool_call(call_id, "Bash", FAILURE, command=command))
