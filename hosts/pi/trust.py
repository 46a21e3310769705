"""
Which folders Pi's user trusts (measured on 1.6.0).

`trust.json` maps folders to the user's decision; that of the nearest folder above holds. Pi asks only where a
project brings settings or extensions of its own.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.pi.installation import agent_folder
from tokeneconomizer.hosts.real_paths import real_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import AgentHomes

TRUST_FILE = "trust.json"


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the decisions; see `hosts.host.Host.trust_file`."""
    return agent_folder(homes.home, homes.environment) / TRUST_FILE


def trusts(content: bytes, folders: Iterable[str]) -> bool:
    """Return whether one of the folders is trusted; see `hosts.host.Host.trusts`."""
    try:
        decisions = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(decisions, dict):
        return False
    resolved = {real_path(path): decision for path, decision in decisions.items()}
    return any(_is_trusted(PurePath(folder), resolved) for folder in folders if folder)


def _is_trusted(folder: PurePath, decisions: Mapping[str, object]) -> bool:
    for above in (folder, *folder.parents):
        decision = decisions.get(str(above))
        if isinstance(decision, bool):
            return decision
    return False
