"""Copilot CLI's tools in neutral words: what kind each is, what it targets, what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import text

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, CallKind] = {
    "apply_patch": CallKind.EDIT,
    "bash": CallKind.SHELL,
    "create": CallKind.EDIT,
    "edit": CallKind.EDIT,
    "glob": CallKind.SEARCH,
    "grep": CallKind.SEARCH,
    "powershell": CallKind.SHELL,
    "read_agent": CallKind.WAIT,
    "read_bash": CallKind.WAIT,
    "read_powershell": CallKind.WAIT,
    "rg": CallKind.SEARCH,
    "str_replace_editor": CallKind.EDIT,
    "task": CallKind.AGENT,
    "view": CallKind.READ,
    "web_fetch": CallKind.WEB,
    "web_search": CallKind.WEB,
}
"""Built-in tools of 1.0.12 to 1.0.102, and older names that logs still hold."""

_CLAUDE_NAMES: dict[str, str] = {
    "Agent": "task",
    "Bash": "bash",
    "Edit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "Read": "view",
    "Write": "create",
}
"""What hooks are told whose registration is spelled as Claude's (1.0.102), by Copilot's own names."""

GITHUB_SERVER = "github-mcp-server"
"""The server that comes with the agent: its tools' names begin with it, where a log names no server."""

PATCH_ARGUMENT = "patch"
"""A tool of free text has no named argument: its text is kept under this name."""

_TARGET_FIELDS = ("path", "url", "file_path")
_EDITED_FIELDS = ("new_str", "file_text", PATCH_ARGUMENT)
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$", re.MULTILINE)


def own_name(tool: str) -> str:
    """Return Copilot's own name of a tool, whichever it is told under."""
    return _CLAUDE_NAMES.get(tool, tool)


def arguments_of(given: object) -> Mapping[str, object]:
    """Return a call's arguments by name."""
    if isinstance(given, dict):
        return cast("Mapping[str, object]", given)
    return {PATCH_ARGUMENT: given} if isinstance(given, str) else {}


def server_of(tool: str, named: str) -> str:
    """Return the MCP server of a tool, which newer logs name; empty for a built-in tool."""
    return named or (GITHUB_SERVER if tool.startswith(f"{GITHUB_SERVER}-") else "")


def server_by_name(tool: str) -> str:
    """
    Return the MCP server of a tool by its name alone: `server-tool`, and no built-in one has a hyphen.

    A server's own name may have hyphens; the log tells it whole.
    """
    server, hyphen, _ = tool.partition("-")
    return server_of(tool, server if hyphen and not tool.startswith(GITHUB_SERVER) else "")


def kind_of(tool: str, server: str) -> CallKind:
    """Return the kind of a tool; unknown ones are `other`."""
    return CallKind.MCP if server else KINDS.get(tool, CallKind.OTHER)


def target_of(arguments: Mapping[str, object]) -> str:
    """Return the path or address that the call is about; of a patch, its first file."""
    patched = _PATCHED_FILE.search(text(arguments, PATCH_ARGUMENT))
    named = next((value for name in _TARGET_FIELDS if (value := text(arguments, name))), "")
    return named or (patched[1] if patched else "")


def edited_by(kind: CallKind, arguments: Mapping[str, object]) -> str:
    """Return the content that an editing call writes; empty for other calls."""
    if kind is not CallKind.EDIT:
        return ""
    written = next((value for name in _EDITED_FIELDS if (value := text(arguments, name))), "")
    # A deletion writes nothing, and is an edit all the same.
    return written or f"delete\n{text(arguments, 'old_str')}"
