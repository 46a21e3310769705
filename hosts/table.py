"""The agents that this program speaks with, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code import host as claude_code
from tokeneconomizer.hosts.opencode import host as opencode
from tokeneconomizer.hosts.pi import host as pi

if TYPE_CHECKING:
    from tokeneconomizer.hosts.host import Host

HOSTS: dict[str, Host] = {claude_code.NAME: claude_code, opencode.NAME: opencode, pi.NAME: pi}
"""What a hook call of each means; see `hosts.host.Host`."""
