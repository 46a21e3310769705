"""The servers of an agent that tells no tools, from the files that configure them: names without sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.hosts.pruning import SERVER_FILES, servers_in
from tokeneconomizer.scheduler.foreign_files import beginning_of

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import AgentHomes

SERVER_FILE_BYTES_MAX = 1024 * 1024
"""Such a file has a few hundred bytes a server."""


def configured_servers(host: str, checkout: Path, homes: AgentHomes) -> list[OfferedTool] | None:
    """Return each server as one tool of that name; None for an agent that tells its tools itself."""
    if host not in SERVER_FILES:
        return None
    files = SERVER_FILES[host](checkout, homes)
    names = {name for file in files for name in servers_in(beginning_of(file, SERVER_FILE_BYTES_MAX))}
    return [OfferedTool(name, server=name) for name in sorted(names)]
