"""How each agent is told to leave tools away, and what is known of the tools that it offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.commented_json import document_of
from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.claude_code import pruning as claude_code
from tokeneconomizer.hosts.codex import pruning as codex
from tokeneconomizer.hosts.copilot import log as copilot_log
from tokeneconomizer.hosts.copilot import pruning as copilot
from tokeneconomizer.hosts.opencode import pruning as opencode
from tokeneconomizer.hosts.pi import installation as pi_installation
from tokeneconomizer.hosts.pi import pruning as pi
from tokeneconomizer.hosts.recognise import CLAUDE_CODE, CODEX, COPILOT, OPENCODE, PI

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokeneconomizer.domain.deny_list import DenyTarget
    from tokeneconomizer.hosts.log_format import AgentHomes

TARGETS: dict[str, DenyTarget] = {
    CLAUDE_CODE: claude_code.TARGET,
    CODEX: codex.TARGET,
    COPILOT: copilot.TARGET,
    PI: pi.TARGET,
    OPENCODE: opencode.TARGET,
}

READ_WHERE_TRUSTED = frozenset({CODEX, COPILOT, PI})
"""Agents that read a checkout's file only where the user trusts it; the others read it unasked."""


def pi_user_settings(homes: AgentHomes) -> Path:
    """Return Pi's settings for all checkouts, which those of a checkout override."""
    return pi_installation.agent_folder(homes.home, homes.environment) / "settings.json"


CATALOGUE_KNOWN_FROM = {
    CLAUDE_CODE: "its log shows whole definitions since 2.1.310, before that only deferred names",
    CODEX: "its log shows no tools of its own: for these it counts what it does by default",
    COPILOT: "its servers are read from mcp-config.json and .mcp.json, by name; their sizes are not known",
    PI: "its log shows the tools that a session adds and removes, and the bridge tells them all",
    OPENCODE: "its log shows none: the bridge tells them, and until then it counts what it does by default",
}
"""What is known of the tools that an agent offers, without asking it: no agent lists them without a model."""

SERVER_FILES: dict[str, Callable[[Path, AgentHomes], tuple[Path, ...]]] = {
    COPILOT: lambda checkout, homes: (
        copilot_log.agent_folder(homes) / copilot.USERS_SERVERS,
        checkout / copilot.SERVERS,
    ),
}
"""Where servers are configured of an agent whose log tells none that was not used."""

OPENCODE_SECOND_FILE = opencode.SECOND_FILE


def servers_in(data: bytes) -> list[str]:
    """Return the servers that a file configures, in the form that all agents share."""
    servers = member(document_of(data), ("mcpServers",))
    return [str(name) for name in servers] if isinstance(servers, dict) else []
