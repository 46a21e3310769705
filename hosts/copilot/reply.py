"""
Copilot CLI's replies (measured on 1.0.102): context at the top level, a hint as a line of progress before.

`systemMessage` and a nested `hookSpecificOutput` are ignored. A line of progress is shown with `-p` and in
the terminal, and the JSON object after it still counts; any other line before the object voids the reply.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.reply_context import text_at

if TYPE_CHECKING:
    from tokeneconomizer.domain.decisions import Decision

CONTEXT_CHARACTERS_MAX = 10_000
"""What is longer is cut beside a tool's result."""

CONTEXT_EVENTS = frozenset(
    {
        "sessionStart",
        "userPromptSubmitted",
        "postToolUse",
        "postToolUseFailure",
        "subagentStart",
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
    }
)
"""Events whose additionalContext reaches the model, in both spellings."""


def encode(event: str, decision: Decision) -> bytes:
    """Return the reply's bytes; see `hosts.host.Host.encode`."""
    context = decision.context if event in CONTEXT_EVENTS else ""
    reply = _line({"additionalContext": context[:CONTEXT_CHARACTERS_MAX]} if context else {})
    if decision.hint:
        return _line({"type": "progress", "message": decision.hint}) + b"\n" + reply
    return reply


def context_in(reply: bytes) -> str:
    """Return the context in a reply; see `hosts.host.Host.context_in`."""
    return text_at(reply.rpartition(b"\n")[2], "additionalContext")


def hides_hints(_transcript_tail: bytes) -> bool:
    """Return that it shows them: its log names no version near its end, and those measured do."""
    return False


def _line(value: dict[str, str]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
