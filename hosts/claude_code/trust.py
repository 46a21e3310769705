"""
Which folders Claude Code's user trusts (measured on 2.1.332).

Its trust dialog notes the answer in `.claude.json`, under the repository's root: `projects[folder]
.hasTrustDialogAccepted`. That of the home folder is never noted; a folder above a repository does not count.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection

    from tokeneconomizer.hosts.log_format import AgentHomes

CONFIG_NAME = ".claude.json"

FOLDER_VARIABLE = "CLAUDE_CONFIG_DIR"


class _Project(msgspec.Struct):
    accepted: object = msgspec.field(name="hasTrustDialogAccepted", default=False)


class _Config(msgspec.Struct):
    projects: dict[str, _Project] = {}


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the answers; see `hosts.host.Host.trust_file`."""
    return Path(homes.environment.get(FOLDER_VARIABLE) or homes.home) / CONFIG_NAME


def trusts(content: bytes, folders: Collection[str]) -> bool:
    """Return whether one of the folders is trusted; see `hosts.host.Host.trusts`."""
    try:
        projects = msgspec.json.decode(content, type=_Config).projects
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    wanted = {unicodedata.normalize("NFC", folder) for folder in folders if folder}
    return any(project.accepted is True for folder, project in projects.items() if folder in wanted)
