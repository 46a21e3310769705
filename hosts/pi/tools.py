"""Pi's tools in neutral words: what kind each is, what it targets, what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, CallKind] = {
    "bash": CallKind.SHELL,
    "edit": CallKind.EDIT,
    "fetch_content": CallKind.WEB,
    "find": CallKind.SEARCH,
    "grep": CallKind.SEARCH,
    "ls": CallKind.SEARCH,
    "mcp": CallKind.MCP,
    "read": CallKind.READ,
    "web_search": CallKind.WEB,
    "write": CallKind.EDIT,
}
"""Built-in tools of 0.67 to 1.6.0, and those of extensions that many people use."""

MCP_PREFIX = "mcp__"
"""Pi's own support, from 1.4 on, names each tool of a server `mcp__server__tool`."""

_SKILL = re.compile(r"(?:^<skill name=\"|/skill:)([A-Za-z0-9][A-Za-z0-9:_-]{0,63})")
"""A skill that a prompt asks for, and what Pi puts in its place when the prompt begins with it."""

_TARGET_FIELDS = ("path", "file_path", "url")


def kind_of(tool: str) -> CallKind:
    """Return the kind of a tool; unknown ones are `other`."""
    return CallKind.MCP if tool.startswith(MCP_PREFIX) else KINDS.get(tool, CallKind.OTHER)


def server_of(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the MCP server of a call; empty for other tools. An extension has one tool for all servers."""
    if tool.startswith(MCP_PREFIX):
        return tool.removeprefix(MCP_PREFIX).partition("__")[0]
    return (text(arguments, "server") or "unknown") if tool == "mcp" else ""


def target_of(arguments: Mapping[str, object]) -> str:
    """Return the path or address that the call is about."""
    return next((value for name in _TARGET_FIELDS if (value := text(arguments, name))), "")


def edited_by(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the content that an editing call writes; empty for other calls."""
    if kind_of(tool) is not CallKind.EDIT:
        return ""
    edits = [arguments, *objects(arguments, "edits")]
    written = [text(edit, name) for edit in edits for name in ("content", "newText")]
    removed = [text(edit, "oldText") for edit in edits]
    # A deletion writes nothing, and is an edit all the same.
    return "\n".join(filter(None, written)) or "\n".join(["delete", *filter(None, removed)])


def skills_named_in(prompt: str) -> tuple[str, ...]:
    """Return the skills that a prompt names."""
    return tuple(sorted(set(_SKILL.findall(prompt))))
