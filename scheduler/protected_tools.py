"""
Tools that the user allowed or asked for in files: such a tool is never proposed for pruning.

Looked at: allow lists of Claude Code's settings, and `tools` or `allowed-tools` in the front matter of
agents, skills and commands.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tokeneconomizer.domain.deny_list import member, texts
from tokeneconomizer.scheduler.foreign_files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import AgentHomes

FRONT_MATTER_BYTES_MAX = 64 * 1024
"""A front matter has some hundred bytes."""

FILES_MAX = 500
"""Of each kind; a repository has a dozen."""

SETTINGS_BYTES_MAX = 1024 * 1024

SETTINGS = (".claude/settings.json", ".claude/settings.local.json")

DOCUMENTS = (
    ".github/agents/*.agent.md",
    ".claude/agents/*.md",
    ".claude/commands/**/*.md",
    ".claude/skills/*/SKILL.md",
    ".agents/skills/*/SKILL.md",
    ".github/skills/*/SKILL.md",
    ".opencode/agent/*.md",
    ".pi/skills/*/SKILL.md",
)

FIELDS = ("tools", "allowed-tools")

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w.:/-]*")
_PATTERN = re.compile(r"\([^)]*\)")
"""`Bash(git:*)` allows a part of what Bash does, and so names Bash."""


def tools_allowed_in(checkout: Path, homes: AgentHomes) -> frozenset[str]:
    """Return the names as they stand there; `server/tool` gives the server too."""
    found: set[str] = set()
    for settings in (*(checkout / name for name in SETTINGS), homes.home / SETTINGS[0]):
        found.update(_allowed_in_settings(beginning_of(settings, SETTINGS_BYTES_MAX)))
    for pattern in DOCUMENTS:
        for number, document in enumerate(sorted(checkout.glob(pattern))):
            if number == FILES_MAX:
                break
            found.update(_named_in_front_matter(beginning_of(document, FRONT_MATTER_BYTES_MAX)))
    return frozenset(found)


def _allowed_in_settings(data: bytes) -> Iterator[str]:
    try:
        allowed = member(json.loads(data), ("permissions", "allow"))
    except (ValueError, RecursionError):
        return
    for rule in texts(allowed):
        yield from _names_in(rule)


def _named_in_front_matter(data: bytes) -> Iterator[str]:
    matter = _FRONT_MATTER.match(data.decode("utf-8", "replace"))
    if matter is None:
        return
    try:
        value = YAML(typ="safe", pure=True).load(matter[1])
    except (YAMLError, ValueError, RecursionError):
        return
    for field in FIELDS:
        named = member(value, (field,))
        if isinstance(named, dict):
            named = [name for name, is_on in named.items() if is_on is not False]
        for text in [named] if isinstance(named, str) else texts(named):
            yield from _names_in(text)


def _names_in(text: str) -> Iterator[str]:
    for name in _NAME.findall(_PATTERN.sub(" ", text)):
        yield name
        server = name.partition("/")[0]
        if server != name:
            yield server
