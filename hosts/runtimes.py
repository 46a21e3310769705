"""What each agent supplies to the accounting contract: its name there, and the rules files that it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.skills import Root
from tokeneconomizer.domain.accounting.turn import Runtime
from tokeneconomizer.hosts.claude_code import host as claude_code

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath

CLAUDE_RULES_FILES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
"""Read at the start of every session of Claude Code, each where it is there."""


def runtimes(folders: Mapping[Root, PurePath]) -> dict[str, Runtime]:
    """Return what the agents supply; rules in an agent's own folder hold in every workspace."""
    own_rules = str(folders[Root.CLAUDE] / "CLAUDE.md")
    return {claude_code.NAME: Runtime("claude_code", (*CLAUDE_RULES_FILES, own_rules))}
