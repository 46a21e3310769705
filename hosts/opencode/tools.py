"""opencode's tools in neutral words: what kind each is, what it targets, what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.hosts.fields import objects, text

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, CallKind] = {
    "apply_patch": CallKind.EDIT,
    "bash": CallKind.SHELL,
    "batch": CallKind.OTHER,
    "codesearch": CallKind.WEB,
    "compress": CallKind.OTHER,
    "edit": CallKind.EDIT,
    "glob": CallKind.SEARCH,
    "grep": CallKind.SEARCH,
    "invalid": CallKind.OTHER,
    "list": CallKind.SEARCH,
    "lsp": CallKind.SEARCH,
    "multiedit": CallKind.EDIT,
    "patch": CallKind.EDIT,
    "plan_enter": CallKind.OTHER,
    "plan_exit": CallKind.OTHER,
    "question": CallKind.OTHER,
    "read": CallKind.READ,
    "shell": CallKind.SHELL,
    "skill": CallKind.READ,
    "task": CallKind.AGENT,
    "todoread": CallKind.OTHER,
    "todowrite": CallKind.OTHER,
    "webfetch": CallKind.WEB,
    "websearch": CallKind.WEB,
    "write": CallKind.EDIT,
}
"""Built-in tools of 1.2 to 1.18, and those that older logs still hold."""

NAMES_OF_TOOLS_ONLY = frozenset(
    {
        "apply_patch",
        "codesearch",
        "multiedit",
        "plan_enter",
        "plan_exit",
        "todoread",
        "todowrite",
        "webfetch",
        "websearch",
    }
)
"""Names that mean the tool wherever they stand; the others are words of every other prompt."""

_TARGET_FIELDS = ("filePath", "path", "url")
_EDITED_FIELDS = ("newString", "content", "patchText")
_NAMED = re.compile(r"`([A-Za-z0-9_-]{2,100})`|\b([A-Za-z0-9_-]{2,100}) tool\b|\b([a-z_]{2,30})\b")
_SKILL = re.compile(r"^\s*/([A-Za-z0-9][A-Za-z0-9:_-]{0,63})(?=\s|$)")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


def kind_of(tool: str) -> CallKind:
    """Return the kind of a tool; the name of an MCP tool opens with its server's and an underscore."""
    return KINDS.get(tool) or (CallKind.MCP if server_of(tool) else CallKind.OTHER)


def server_of(tool: str) -> str:
    """Return the MCP server's name of `server_tool`; empty for built-in tools."""
    server, joint, name = tool.partition("_")
    return server if joint and name and tool not in KINDS else ""


def target_of(arguments: Mapping[str, object]) -> str:
    """Return the path or address that the call is about; of a patch the first file."""
    named = next((value for name in _TARGET_FIELDS if (value := text(arguments, name))), "")
    patched = None if named else _PATCHED_FILE.search(text(arguments, "patchText"))
    return patched.group(1) if patched else named


def edited_by(tool: str, arguments: Mapping[str, object]) -> str:
    """Return the content that an editing call writes; empty for other calls."""
    if kind_of(tool) is not CallKind.EDIT:
        return ""
    parts = [text(arguments, name) for name in _EDITED_FIELDS]
    parts += [text(edit, "newString") for edit in objects(arguments, "edits")]
    # A deletion writes nothing, and is an edit all the same.
    return "\n".join(part for part in parts if part) or f"delete\n{text(arguments, 'oldString')}"


def tools_named_in(prompt: str) -> tuple[str, ...]:
    """Return the tools that a prompt names: in backquotes, before `tool`, or by a name like no word."""
    named: set[str] = set()
    for quoted, before_tool, alone in _NAMED.findall(prompt):
        named |= {name for name in (quoted, before_tool) if name in KINDS or server_of(name)}
        named |= {alone} & NAMES_OF_TOOLS_ONLY
    return tuple(sorted(named))


def skills_named_in(prompt: str) -> tuple[str, ...]:
    """Return the skill or command that a prompt opens with."""
    found = _SKILL.match(prompt)
    return (found.group(1),) if found else ()
