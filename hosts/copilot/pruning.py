"""Copilot: servers in `disabledMcpServers` of the checkout's local settings (1.0.102); no single tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, ListedName, member, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

DISABLED = ("disabledMcpServers",)

USERS_SERVERS = "mcp-config.json"
SERVERS = ".mcp.json"
"""In Copilot's own folder, and in the checkout."""


def denials(document: Document, names: Sequence[str], _circumstances: Circumstances) -> list[Denial]:
    """Return what is to be added."""
    disabled = texts(member(document, DISABLED))
    return [ListedName(name, DISABLED, name) for name in names if name not in disabled]


def unit_of(_tool: str, server: str) -> str:
    """Return the server: no tool of its own can be denied."""
    return server


TARGET = DenyTarget(".github/copilot/settings.local.json", denials, unit_of=unit_of)
