"""The context in a reply that an agent was given; see `hosts.host.Host.context_in`."""

from __future__ import annotations

import json


def text_at(reply: bytes, *names: str) -> str:
    """Return the text to which names lead in a JSON object; empty where there is none."""
    try:
        value = json.loads(reply)
        for name in names:
            value = value[name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def nested_context_in(reply: bytes) -> str:
    """Return the context of Claude Code's form of a reply, which is Codex's as well."""
    return text_at(reply, "hookSpecificOutput", "additionalContext")
