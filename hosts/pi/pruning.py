"""
Pi: `defaultTools` of the checkout's settings, in trusted projects.

0.87.1 takes a list with `-name` for one that selects no tool at all, so only a version that is known to
understand it (1.3.0 and newer) gets that; any other one gets the plain list of what is left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, ListedName, ShorterList, Unlisted, member, texts
from tokeneconomizer.hosts.pi.tools import MCP_PREFIX

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
    names = [name for name in names if unit_of(name, "")]
    own = member(document, LIST)
    listed = texts(own)
    if own is not None and not _changes_only(listed):
        return [Unlisted(name, LIST) for name in names if name in listed]
    version = _VERSION.match(circumstances.agent_version)
    if version and (int(version[1]), int(version[2])) >= UNDERSTANDS_MINUS:
        return [ListedName(name, LIST, f"-{name}") for name in names if f"-{name}" not in listed]
    inherited = texts(member(circumstances.inherited, LIST))
    start = list(DEFAULT_TOOLS) if not inherited or _changes_only(inherited) else inherited
    return _shorter(names, _changed(_changed(start, inherited), listed))


def _changes_only(listed: Sequence[str]) -> bool:
    return all(entry.startswith(("+", "-")) for entry in listed)


def _changed(tools: Sequence[str], changes: Sequence[str]) -> list[str]:
    removed = {entry[1:] for entry in changes if entry.startswith("-")}
    added = [entry[1:] for entry in changes if entry.startswith("+") and entry[1:] not in tools]
    return [tool for tool in [*tools, *added] if tool not in removed]


def _shorter(names: Sequence[str], listed: Sequence[str]) -> list[Denial]:
    rest = tuple(tool for tool in listed if tool not in names)
    return [ShorterList(name, LIST, rest) for name in names if name in listed]


def unit_of(name: str, server: str) -> str:
    """Return the tool itself; those of MCP servers are out of reach of this list (1.6.0)."""
    return "" if server or name.startswith(MCP_PREFIX) else name


TARGET = DenyTarget(
    ".pi/settings.json",
    denials,
    unit_of=unit_of,
    core=frozenset({*DEFAULT_TOOLS, "codemode", "tool_search"}),
)
