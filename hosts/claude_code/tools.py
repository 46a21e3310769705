"""Claude Code's tools in neutral words: what kind each is, what it targets, what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, CallKind] = {
    "Agent": CallKind.AGENT,
    "AgentOutput": CallKind.WAIT,
    "Bash": CallKind.SHELL,
    "BashOutput": CallKind.WAIT,
    "Edit": CallKind.EDIT,
    "Glob": CallKind.SEARCH,
    "Grep": CallKind.SEARCH,
    "LS": CallKind.SEARCH,
    "Monitor": CallKind.WAIT,
    "MultiEdit": CallKind.EDIT,
    "NotebookEdit": CallKind.EDIT,
    "PowerShell": CallKind.SHELL,
    "Read": CallKind.READ,
    "ScheduleWakeup": CallKind.WAIT,
    "Task": CallKind.AGENT,
    "TaskOutput": CallKind.WAIT,
    "ToolSearch": CallKind.SEARCH,
    "WebFetch": CallKind.WEB,
    "WebSearch": CallKind.WEB,
    "Write": CallKind.EDIT,
}
"""Built-in tools of 2.1.310 to 2.1.332, and older names that logs still hold."""

MCP_PREFIX = "mcp__"

_TARGET_FIELDS = ("file_path", "notebook_path", "path", "url")
_EDITED_FIELDS = ("new_string", "content", "new_source")
_NAMED_MCP_TOOL = re.compile(r"\bmcp__[A-Za-z0-9_-]{1,90}")
_WORD = re.compile(r"[A-Za-z]{2,30}")
_SKILL = re.compile(r"^\s*/([A-Za-z0-9][A-Za-z0-9:_-]{0,63})(?=\s|$)")


def kind_of(tool: str) -> CallKind:
    """Return the kind of a tool; unknown ones are `other`."""
    return CallKind.MCP if tool.startswith(MCP_PREFIX) else KINDS.get(tool, CallKind.OTHER)


def server_of(tool: str) -> str:
    """Return the MCP server's name of `mcp__server__tool`; empty for built-in tools."""
    if not tool.startswith(MCP_PREFIX):
        return ""
    return tool.removeprefix(MCP_PREFIX).partition("__")[0] or "unknown"


def target_of(arguments: Mapping[str, object]) -> str:
    """Return the path or address that the call is about."""
    return next((value for name in _TARGET_FIELDS if (value := text(arguments, name))), "")


def edited_by(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the content that an editing call writes; empty for other calls."""
    if kind_of(tool) is not CallKind.EDIT:
        return ""
    parts = [text(arguments, name) for name in _EDITED_FIELDS]
    parts += [text(edit, "new_string") for edit in objects(arguments, "edits")]
    # A deletion writes nothing, and is an edit all the same.
    return "\n".join(part for part in parts if part) or f"delete\n{text(arguments, 'old_string')}"


def tools_named_in(prompt: str) -> tuple[str, ...]:
    """Return the tools that a prompt names; these are never proposed for pruning."""
    built_in = {word for word in _WORD.findall(prompt) if word in KINDS}
    return tuple(sorted(built_in | set(_NAMED_MCP_TOOL.findall(prompt))))


def skills_named_in(prompt: str) -> tuple[str, ...]:
    """Return the skill or command that a prompt opens with."""
    found = _SKILL.match(prompt)
    return (found.group(1),) if found else ()
