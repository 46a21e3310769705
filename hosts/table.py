"""The agents that this program speaks with, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code import host as claude_code
from tokeneconomizer.hosts.codex import host as codex
from tokeneconomizer.hosts.copilot import host as copilot
from tokeneconomizer.hosts.opencode import host as opencode
from tokeneconomizer.hosts.pi import host as pi

if TYPE_CHECKING:
    from tokeneconomizer.hosts.host import Host

HOSTS: dict[str, Host] = {
    claude_code.NAME: claude_code,
    codex.NAME: codex,
    copilot.NAME: copilot,
    pi.NAME: pi,
    opencode.NAME: opencode,
}
"""What a hook call of each means; see `hosts.host.Host`."""
