"""Which folders Copilot's user trusts: `trustedFolders` of its `config.json` and all below them (1.0.102)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import member, texts
from tokeneconomizer.hosts.copilot.log import agent_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.hosts.log_format import AgentHomes

CONFIG_NAME = "config.json"

_COMMENT_OR_TEXT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""Copilot's own `config.json` begins with comments."""

_TEXT_OR_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])', re.DOTALL)


def trust_file(homes: AgentHomes) -> Path:
    """Return the file of the answers; see `hosts.host.Host.trust_file`."""
    return agent_folder(homes) / CONFIG_NAME


def trusts(content: bytes, folders: Iterable[str]) -> bool:
    """Return whether one of the folders, or one above it, is trusted; see `hosts.host.Host.trusts`."""
    try:
        bare = _COMMENT_OR_TEXT.sub(lambda found: found[1] or "", content.decode("utf-8-sig"))
        value = json.loads(_TEXT_OR_LAST_COMMA.sub(lambda found: found[1] or "", bare))
    except (ValueError, RecursionError):
        return False
    named = [*texts(member(value, ("trustedFolders",))), *texts(member(value, ("trusted_folders",)))]
    trusted = {str(Path(path).resolve()) for path in named}
    above = [map(str, (Path(folder), *Path(folder).parents)) for folder in folders if folder]
    return any(not trusted.isdisjoint(paths) for paths in above)
