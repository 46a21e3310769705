"""
Codex's replies (measured on 0.171.0 and 0.164.0): context for the model, as a message of its own.

A reply with any other field fails as a whole, and context fails it where the event takes none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.decisions import Decision

CONTEXT_CHARACTERS_MAX = 9_000
"""Codex cuts a context above 2,500 tokens, and writes the whole to a file; 10,000 characters arrived."""

CONTEXT_EVENTS = frozenset({"PostToolUse", "PreToolUse", "SessionStart", "UserPromptSubmit"})
"""Events whose additionalContext reaches the model."""

MESSAGE_EVENTS = frozenset({"PostToolUse", "PreToolUse"})
"""Events with which hints are given, and whose `systemMessage` is accepted; `codex exec` shows it nowhere."""


def encode(event: str, decision: Decision) -> bytes:
    """Return the reply's bytes; see `hosts.host.Host.encode`."""
    reply: dict[str, object] = {}
    if decision.context and event in CONTEXT_EVENTS:
        context = decision.context[:CONTEXT_CHARACTERS_MAX]
        reply["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    if decision.hint and event in MESSAGE_EVENTS:
        reply["systemMessage"] = decision.hint
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")


def hides_hints(_transcript_tail: bytes) -> bool:
    """
    Return that the model is not asked to repeat hints; see `hosts.host.Host.hides_hints`.

    Where nothing shows them (`codex exec`) nobody watches the turn either: `te status` counts them.
    """
    return False
