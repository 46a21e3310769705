"""Where Codex keeps its files, and which versions were measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.measured import Measured

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes

BINARY = "codex"

HOME_FOLDER = ".codex"
HOME_VARIABLE = "CODEX_HOME"

CONFIG_FILE = "config.toml"

MEASURED = Measured((0, 164, 0), (0, 171, 0))
"""Older ones lack token records, and maybe more."""


def codex_home(homes: AgentHomes) -> Path:
    """Return the agent's own folder."""
    return Path(homes.environment.get(HOME_VARIABLE) or homes.home / HOME_FOLDER)
