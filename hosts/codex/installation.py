"""Where Codex keeps its files, and which versions were measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes

BINARY = "codex"

HOME_FOLDER = ".codex"
HOME_VARIABLE = "CODEX_HOME"

CONFIG_FILE = "config.toml"

OLDEST_MEASURED = (0, 164, 0)
"""The oldest version that was run with our hooks: older ones lack token records, and maybe more."""

NEWEST_MEASURED = (0, 171, 0)

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def codex_home(homes: AgentHomes) -> Path:
    """Return the agent's own folder."""
    return Path(homes.environment.get(HOME_VARIABLE) or homes.home / HOME_FOLDER)


def is_older_than_measured(version: str) -> bool:
    """Return whether a `codex --version` line names a version older than those measured."""
    found = _VERSION.search(version)
    return found is not None and tuple(int(part) for part in found.groups()) < OLDEST_MEASURED
