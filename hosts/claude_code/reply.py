"""Claude Code's replies (measured on 2.1.310 and 2.1.332): context beside the result, hints to the user."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.decisions import Decision

CONTEXT_CHARACTERS_MAX = 10_000
"""Claude Code replaces a longer context by a file name and a preview."""

CONTEXT_EVENTS = frozenset(
    {
        "PostToolBatch",
        "PostToolUse",
        "PostToolUseFailure",
        "SessionStart",
        "SubagentStart",
        "UserPromptSubmit",
    }
)
"""Events whose additionalContext reaches the model and does not prolong the turn."""

SHOWS_MESSAGES_FROM = (2, 1, 310)
"""The oldest version on which `systemMessage` was seen to stay on the user's screen."""

_VERSION = re.compile(rb'"version":\s?"(\d{1,4})\.(\d{1,4})\.(\d{1,6})')


def encode(event: str, decision: Decision) -> bytes:
    """Return the reply's bytes; see `hosts.host.Host.encode`."""
    if event == "PreCompact":
        # What is printed there becomes part of the compaction's instructions.
        return b""
    if not (decision.context or decision.hint):
        return b"{}"
    reply: dict[str, object] = {}
    if decision.context and event in CONTEXT_EVENTS:
        # A reply that names another event than its own is dropped.
        reply["hookSpecificOutput"] = {
            "hookEventName": event,
            "additionalContext": decision.context[:CONTEXT_CHARACTERS_MAX],
        }
    if decision.hint:
        reply["systemMessage"] = decision.hint
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")


def hides_hints(transcript_tail: bytes) -> bool:
    """Return whether the version in the log's last lines is older than those known to show messages."""
    found = _VERSION.findall(transcript_tail)
    if not found:
        return True
    major, minor, patch = (int(part) for part in found[-1])
    return (major, minor, patch) < SHOWS_MESSAGES_FROM
