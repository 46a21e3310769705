"""What the daemon says to a bridge, which puts it into its agent's own ways."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.reply_context import text_at

if TYPE_CHECKING:
    from tokeneconomizer.domain.decisions import Decision


def encode(_event: str, decision: Decision) -> bytes:
    """Return the reply's bytes; see `hosts.host.Host.encode`."""
    said = {"context": decision.context, "hint": decision.hint, "quiet": decision.quiet_steps}
    told = {name: value for name, value in said.items() if value}
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def context_in(reply: bytes) -> str:
    """Return the context in a reply; see `hosts.host.Host.context_in`."""
    return text_at(reply, "context")
