"""Claude Code: bare names in `permissions.deny` of the checkout's local settings (2.1.332)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, ListedName, member, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

DENY = ("permissions", "deny")


def denials(document: Document, names: Sequence[str], circumstances: Circumstances) -> list[Denial]:
    """Return what is to be added; the main checkout's file rules its worktrees too."""
    denied = {*texts(member(document, DENY)), *texts(member(circumstances.inherited, DENY))}
    return [ListedName(name, DENY, name) for name in names if name not in denied]


CORE = frozenset({"Bash", "Edit", "MultiEdit", "PowerShell", "Read", "ToolSearch", "Write"})
"""What every task needs. Denying Bash adds Glob and Grep, denying ToolSearch loads every deferred tool."""

ASSUMED = {
    "Agent": 5_372,
    "ListAgents": 2_020,
    "ReportFindings": 2_533,
    "ScheduleWakeup": 5_017,
    "Skill": 1_846,
    "Workflow": 5_806,
}
"""Loaded by default besides the core (2.1.332), in characters of JSON."""

ALIASES = {"Task": "Agent"}
"""Older logs and the start message name it so; denying either takes away the same."""


def unit_of(tool: str, _server: str) -> str:
    """Return the name under which a tool is denied."""
    return ALIASES.get(tool, tool)


TARGET = DenyTarget(".claude/settings.local.json", denials, unit_of=unit_of, core=CORE, assumed=ASSUMED)
