"""
Pi: `defaultTools` of the checkout's settings, in trusted projects.

0.87.1 takes a list with `-name` for one that selects no tool at all, so only a version that is known to
understand it (1.3.0 and newer) gets that; any other one gets the plain list of what is left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, ListedName, ShorterList, Unlisted, member, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

LIST = ("defaultTools",)

DEFAULT_TOOLS = ("read", "bash", "edit", "write")
"""What is active where no settings name tools (1.6.0)."""

UNDERSTANDS_MINUS = (1, 3)

_VERSION = re.compile(r"(\d+)\.(\d+)")


def denials(document: Document, names: Sequence[str], circumstances: Circumstances) -> list[Denial]:
    """Return what is to be written, in the form that this version of Pi understands."""
    own, listed = member(document, LIST), texts(member(document, LIST))
    version = _VERSION.match(circumstances.agent_version)
    understands_minus = version is not None and (int(version[1]), int(version[2])) >= UNDERSTANDS_MINUS
    minus: list[Denial] = [ListedName(name, LIST, f"-{name}") for name in names if f"-{name}" not in listed]
    if LIST[0] in document and not isinstance(own, list):
        # The writer adds to no other kind of value, and so refuses.
        return minus
    if own is not None and not _changes_only(listed):
        return [
            *(Unlisted(name, LIST) for name in names if name in listed),
            *(one for one in minus if understands_minus and f"+{one.name}" in listed),
        ]
    if understands_minus:
        return minus
    inherited = texts(member(circumstances.inherited, LIST))
    is_replaced = isinstance(member(circumstances.inherited, LIST), list) and not _changes_only(inherited)
    start = inherited if is_replaced else DEFAULT_TOOLS
    return _shorter(names, _changed(_changed(start, inherited), listed))


def _changes_only(listed: Sequence[str]) -> bool:
    """Tell whether a list changes the one that it inherits; an empty one replaces it."""
    return bool(listed) and all(entry.startswith(("+", "-")) for entry in listed)


def _changed(tools: Sequence[str], changes: Sequence[str]) -> list[str]:
    """Return the selection after the changes, which are made in order."""
    selected = [tool for tool in tools if not tool.startswith(("+", "-"))]
    for entry in changes:
        name = entry[1:]
        if entry.startswith("+") and name not in selected:
            selected.append(name)
        elif entry.startswith("-"):
            selected = [tool for tool in selected if tool != name]
    return selected


def _shorter(names: Sequence[str], listed: Sequence[str]) -> list[Denial]:
    rest = tuple(tool for tool in listed if tool not in names)
    return [ShorterList(name, LIST, rest) for name in names if name in listed]


SELECTED_BY_NAME = frozenset(
    {*DEFAULT_TOOLS, "codemode", "find", "grep", "ls", "powershell", "tool_search"},
)
"""
What `defaultTools` rules over (1.6.0).

Tools of extensions and of MCP servers, `mcp__<server>__<tool>`, are active whatever stands there; those of
a server are declared to the model only where `mcp.json` sets their exposure to `direct`.
"""


def unit_of(tool: str, _server: str) -> str:
    """Return the tool where it can be denied."""
    return tool if tool in SELECTED_BY_NAME else ""


TARGET = DenyTarget(
    ".pi/settings.json",
    denials,
    unit_of=unit_of,
    core=frozenset({*DEFAULT_TOOLS, "codemode", "tool_search"}),
)
