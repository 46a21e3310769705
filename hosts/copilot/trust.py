"""Which folders Copilot's user trusts: `trustedFolders` of its `config.json` and all below them (1.0.102)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commented_json import document_of
from tokeneconomizer.domain.deny_list import member, texts
from tokeneconomizer.hosts.copilot.log import agent_folder
from tokeneconomizer.hosts.real_paths import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.hosts.log_format import AgentHomes

CONFIG_NAME = "config.json"


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the answers; see `hosts.host.Host.trust_file`."""
    return agent_folder(homes) / CONFIG_NAME


def trusts(content: bytes, folders: Iterable[str]) -> bool:
    """Return whether one of the folders, or one above it, is trusted; see `hosts.host.Host.trusts`."""
    # Copilot's own file begins with comments.
    value = document_of(content)
    named = [*texts(member(value, ("trustedFolders",))), *texts(member(value, ("trusted_folders",)))]
    trusted = {real_path(path) for path in named}
    above = [map(str, (Path(folder), *Path(folder).parents)) for folder in folders if folder]
    return any(not trusted.isdisjoint(paths) for paths in above)
