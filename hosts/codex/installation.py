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
"""The newest one."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def codex_home(homes: AgentHomes) -> Path:
    """Return the agent's own folder."""
    return Path(homes.environment.get(HOME_VARIABLE) or homes.home / HOME_FOLDER)


def unmeasured(version: str) -> str:
    """Return words on what a `codex --version` line names, where it is none of the measured versions."""
    found = _VERSION.search(version)
    if found is None:
        return ""
    oldest, newest = (".".join(map(str, numbers)) for numbers in (OLDEST_MEASURED, NEWEST_MEASURED))
    numbers = tuple(int(part) for part in found.groups())
    if OLDEST_MEASURED <= numbers <= NEWEST_MEASURED:
        return ""
    return f"{found.group()} was not measured: what is known of it holds for {oldest} to {newest}"
