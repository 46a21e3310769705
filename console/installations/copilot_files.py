"""A look into Copilot's own files, without changing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.copilot import plugin
from tokeneconomizer.scheduler.foreign_files import beginning_of
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.json_with_comments import JSON_WITH_COMMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.writers.edits import Document

SETTINGS_BYTES_MAX = 4_000_000
"""A settings file is some kilobytes."""


def document_of(path: Path) -> Document | None:
    """Return what a file holds; an absent file is an empty one, None is one that cannot be read."""
    try:
        return JSON_WITH_COMMENTS.parse(beginning_of(path, SETTINGS_BYTES_MAX).decode())
    except (WriteRefused, UnicodeDecodeError):
        return None


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
