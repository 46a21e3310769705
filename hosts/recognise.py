"""
Which agent sent a payload: told by its shape.

Environment variables never decide (a Codex started inside Claude Code inherits CLAUDE_*), and the flag of a
registration only where a shape is shared: a Copilot payload that arrives at our Claude Code registration is
Copilot's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CLAUDE_CODE = "claude_code"
CODEX = "codex"
COPILOT = "copilot"
PI = "pi"
OPENCODE = "opencode"

HOST_NAMES = (CLAUDE_CODE, CODEX, COPILOT, PI, OPENCODE)

CODEX_LOG = "/rollout-"
"""Codex names its logs so; Claude Code keeps its own under `projects/`."""


def host_of(payload: Mapping[str, object], host_flag: str) -> str:
    """Return the name of the agent that sent the payload, or an empty text when no shape fits."""
    if not isinstance(payload.get("hook_event_name"), str):
        return _without_event_name(payload, host_flag)
    if "timestamp" in payload or "tool_result" in payload:
        return COPILOT
    transcript = payload.get("transcript_path")
    if isinstance(transcript, str) and CODEX_LOG in transcript.replace("\\", "/"):
        return CODEX
    # Of a session without a log Codex names none; Claude Code always does.
    is_unlogged = host_flag == CODEX and "transcript_path" in payload and transcript is None
    if ("turn_id" in payload and "prompt_id" not in payload) or is_unlogged:
        return CODEX
    if "session_id" in payload:
        return host_flag if host_flag in {PI, OPENCODE} else CLAUDE_CODE
    return ""


def _without_event_name(payload: Mapping[str, object], host_flag: str) -> str:
    if host_flag in {PI, OPENCODE}:
        return host_flag
    if "sessionId" in payload or "timestamp" in payload or "toolName" in payload:
        return COPILOT
    return ""
