"""Copilot: servers in `disabledMcpServers` of the checkout's local settings (1.0.102); no single tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, ListedName, member, texts
from tokeneconomizer.hosts.commented_json import document_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

DISABLED = ("disabledMcpServers",)

USERS_SERVERS = "mcp-config.json"
SERVERS = ".mcp.json"
"""In Copilot's own folder, and in the checkout."""


def denials(document: Document, names: Sequence[str], _circumstances: Circumstances) -> list[Denial]:
    """Return what is to be added."""
    disabled = texts(member(document, DISABLED))
    return [ListedName(name, DISABLED, name) for name in names if name not in disabled]


def is_trusted(user_config: bytes, folders: Iterable[str]) -> bool:
    """Return whether one of these folders, or one above it, is trusted."""
    value = document_of(user_config)
    named = [*texts(member(value, ("trustedFolders",))), *texts(member(value, ("trusted_folders",)))]
    trusted = {str(Path(path).resolve()) for path in named}
    return any(not trusted.isdisjoint(map(str, (Path(folder), *Path(folder).parents))) for folder in folders)


def unit_of(_tool: str, server: str) -> str:
    """Return the server: no tool of its own can be denied."""
    return server


TARGET = DenyTarget(".github/copilot/settings.local.json", denials, unit_of=unit_of)
