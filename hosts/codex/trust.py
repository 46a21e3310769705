"""Which folders Codex's user trusts: `[projects."folder"] trust_level` in the user's own `config.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex.installation import CONFIG_FILE, codex_home
from tokeneconomizer.hosts.codex.pruning import is_trusted

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokeneconomizer.hosts.log_format import AgentHomes


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the answers; see `hosts.host.Host.trust_file`."""
    return codex_home(homes) / CONFIG_FILE


def trusts(content: bytes, folders: Collection[str]) -> bool:
    """Return whether one of the folders is trusted; see `hosts.host.Host.trusts`."""
    return is_trusted(content, (str(Path(folder).resolve()) for folder in folders if folder))
