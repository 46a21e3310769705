"""Which agent sent a payload is told by its shape (S2.1)."""

from __future__ import annotations

import pytest

from tokeneconomizer.hosts.recognise import host_of

CLAUDE = {"hook_event_name": "PostToolBatch", "session_id": "s", "prompt_id": "p", "tool_calls": []}


@pytest.mark.parametrize(
    ("payload", "flag", "host"),
    [
        (CLAUDE, "", "claude_code"),
        (CLAUDE, "codex", "claude_code"),
        ({"hook_event_name": "SessionStart", "session_id": "s"}, "claude_code", "claude_code"),
        ({"hook_event_name": "PostToolUse", "session_id": "s", "turn_id": "t"}, "claude_code", "codex"),
        (
            {
                "hook_event_name": "SessionStart",
                "session_id": "s",
                "transcript_path": "/h/sessions/2026/01/05/rollout-x.jsonl",
            },
            "claude_code",
            "codex",
        ),
        ({"hook_event_name": "SessionStart", "session_id": "s", "transcript_path": None}, "codex", "codex"),
        ({"hook_event_name": "PostToolUse", "session_id": "s", "tool_result": {}}, "claude_code", "copilot"),
        ({"hook_event_name": "SessionStart", "session_id": "s", "timestamp": 1}, "claude_code", "copilot"),
        ({"sessionId": "s", "timestamp": 1, "cwd": "/"}, "claude_code", "copilot"),
        ({"session_id": "s", "event": "tool_result"}, "pi", "pi"),
        ({"hook_event_name": "x", "session_id": "s"}, "opencode", "opencode"),
        ({"hello": "world"}, "claude_code", ""),
        ({"hook_event_name": "Stop"}, "claude_code", ""),
    ],
)
def test_the_shape_decides_and_the_flag_only_where_a_shape_is_shared(
    payload: dict[str, object], flag: str, host: str
) -> None:
    assert host_of(payload, flag) == host
