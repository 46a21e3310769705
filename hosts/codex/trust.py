"""
What Codex's user trusts, as the user's own `config.toml` notes it (0.171.0 and 0.164.0).

Folders: `[projects."folder"] trust_level`. Hooks: `[hooks.state."key"] trusted_hash`; without it a hook is
passed over without a word.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import member
from tokeneconomizer.hosts.codex.installation import CONFIG_FILE, codex_home
from tokeneconomizer.hosts.codex.pruning import read_config

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tokeneconomizer.hosts.log_format import AgentHomes


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the answers; see `hosts.host.Host.trust_file`."""
    return codex_home(homes) / CONFIG_FILE


def trusts(content: bytes, folders: Collection[str]) -> bool:
    """Return whether one of the folders is trusted; see `hosts.host.Host.trusts`."""
    projects = read_config(content).get("projects")
    wanted = {str(Path(folder).resolve()) for folder in folders if folder}
    return isinstance(projects, dict) and any(
        member(project, ("trust_level",)) == "trusted" and str(Path(path).resolve()) in wanted
        for path, project in projects.items()
    )


def hooks_are_approved(user_config: bytes, keys: Iterable[str]) -> bool:
    """
    Return whether the user approved all of these hooks, so that Codex runs them.

    What was approved is not compared: `te setup` takes the note away when it changes what it is about.
    """
    state = member(read_config(user_config), ("hooks", "state"))
    entries = [state.get(key) if isinstance(state, dict) else None for key in keys]
    return all(_is_approved(entry) for entry in entries)


def _is_approved(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("trusted_hash"), str)
        and entry.get("enabled") is not False
    )
