"""A look into Copilot's own files, without changing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.copilot import plugin

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_copy_of_ours(entry: object) -> bool:
    """Return whether an entry of the installed plugins is ours, installed directly and so copied."""
    return isinstance(entry, dict) and entry.get("name") == plugin.PLUGIN and not entry.get("marketplace")


def folders_of_copies(config: Mapping[str, object], agent_folder: Path) -> list[Path]:
    """Return where copies of our plugin lie: below the agent's folder of copied plugins, and nowhere else."""
    listed = member(config, plugin.DIRECT_INSTALLS)
    copied = (agent_folder / plugin.INSTALLED_FOLDER).resolve()
    found = [
        Path(str(entry.get("cache_path") or "")).resolve()
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict) and is_copy_of_ours(entry)
    ]
    return [folder for folder in found if copied in folder.parents and folder.is_dir()]
