"""A look into Copilot's own files, without changing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.copilot import plugin
from tokeneconomizer.hosts.marketplace import PLUGIN

if TYPE_CHECKING:
    from collections.abc import Mapping


def copies_in(config: Mapping[str, object]) -> list[object]:
    """Return the entries of plugins that were copied, ours and others."""
    listed = member(config, plugin.DIRECT_INSTALLS)
    return listed if isinstance(listed, list) else []


def is_copy_of_ours(entry: object) -> bool:
    """Return whether an entry of the installed plugins is ours, installed directly and so copied."""
    return isinstance(entry, dict) and entry.get("name") == PLUGIN and not entry.get("marketplace")


def folders_of_copies(config: Mapping[str, object], agent_folder: Path) -> list[Path]:
    """Return where copies of our plugin lie: below the agent's folder of copied plugins, and nowhere else."""
    copied = (agent_folder / plugin.INSTALLED_FOLDER).resolve()
    found = [
        Path(str(entry.get("cache_path") or "")).resolve()
        for entry in copies_in(config)
        if isinstance(entry, dict) and is_copy_of_ours(entry)
    ]
    return [folder for folder in found if copied in folder.parents and folder.is_dir()]
