"""What our plugin is told: a text for the model beside the newest result or in the system prompt, one for the user."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.decisions import Decision


def encode(_event: str, decision: Decision) -> bytes:
    """Return the reply's bytes; see `hosts.host.Host.encode`."""
    reply = {"context": decision.context, "hint": decision.hint}
    said = {name: said for name, said in reply.items() if said}
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")


def context_in(reply: bytes) -> str:
    """Return the context in a reply; see `hosts.host.Host.context_in`."""
    try:
        context = json.loads(reply)["context"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return context if isinstance(context, str) else ""


def hides_hints(_transcript_tail: bytes) -> bool:
    """Return False: opencode shows them in its window, and `opencode run` has none; no log tells which it is."""
    return False
