"""What each agent supplies to the accounting contract: its name there, and the rules files that it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.rules import RulesFiles
from tokeneconomizer.domain.accounting.skills import Root
from tokeneconomizer.domain.accounting.turn import Runtime
from tokeneconomizer.hosts.claude_code import log as claude_code
from tokeneconomizer.hosts.codex import log as codex
from tokeneconomizer.hosts.copilot import log as copilot
from tokeneconomizer.hosts.opencode import log as opencode
from tokeneconomizer.hosts.pi import log as pi

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath

CLAUDE_RULES = (("CLAUDE.md",), (".claude/CLAUDE.md",), ("CLAUDE.local.md",))
"""All three are read, in the folder and in each one above it."""

CODEX_RULES = ("AGENTS.override.md", "AGENTS.md")
"""Codex's documentation: at most one in a folder, from the project's root on."""

COPILOT_RULES = ((".github/copilot-instructions.md",), ("AGENTS.md",), ("CLAUDE.md",), ("GEMINI.md",))
"""Seen in its requests; those below `.github/instructions` hold for some files only, and are not counted."""

PI_RULES = ("AGENTS.md", "CLAUDE.md")
"""Pi's documentation: one in each folder, up to the root of the file system."""

OPENCODE_RULES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""opencode's documentation: the first one that is there."""


def runtimes(folders: Mapping[Root, PurePath]) -> dict[str, Runtime]:
    """Return what the agents supply; rules in an agent's own folder hold in every workspace."""

    def own(root: Root, name: str) -> str:
        return str(folders[root] / name)

    claude_own = ((own(Root.MANAGED, "CLAUDE.md"),), (own(Root.CLAUDE, "CLAUDE.md"),))
    codex_own = (tuple(own(Root.CODEX, name) for name in CODEX_RULES),)
    pi_own = (tuple(own(Root.PI, name) for name in PI_RULES),)
    opencode_own = ((own(Root.OPENCODE, "AGENTS.md"), own(Root.CLAUDE, "CLAUDE.md")),)
    return {
        claude_code.NAME: Runtime(
            "claude_code",
            RulesFiles(own=claude_own, in_workspace=CLAUDE_RULES, above=CLAUDE_RULES),
            prompt_source="log/api-request-shape",
        ),
        codex.NAME: Runtime("codex_runtime", RulesFiles(own=codex_own, in_workspace=(CODEX_RULES,))),
        copilot.NAME: Runtime("copilot", RulesFiles(in_workspace=COPILOT_RULES)),
        pi.NAME: Runtime("pi", RulesFiles(own=pi_own, in_workspace=(PI_RULES,), above=(PI_RULES,))),
        opencode.NAME: Runtime("opencode", RulesFiles(own=opencode_own, in_workspace=(OPENCODE_RULES,))),
    }
