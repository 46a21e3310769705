"""opencode: `tools` of the checkout's `opencode.json` (1.18.33)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, SwitchedOff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

SECOND_FILE = "opencode.jsonc"
"""Read beside the first one, and joined with it."""

EVERY_TOOL = "*"


def denials(document: Document, names: Sequence[str], circumstances: Circumstances) -> list[Denial]:
    """Return the switches to be added; what the user set in either file stays."""
    files = (document, circumstances.inherited or {})
    return [
        SwitchedOff(name, ("tools", name))
        for name in names
        if not any(_is_ruled(file, name) for file in files)
    ]


def _is_ruled(document: Document, name: str) -> bool:
    """Tell whether the user ruled on the tool; a permission, also one for all tools, beats `tools`."""
    permission, tools = document.get("permission"), document.get("tools")
    if isinstance(permission, str) or (isinstance(tools, dict) and name in tools):
        return True
    return isinstance(permission, dict) and not {name, EVERY_TOOL}.isdisjoint(permission)


CORE = frozenset({"bash", "edit", "glob", "grep", "invalid", "read", "write"})
"""What every task needs; `invalid` stands for a tool that does not exist."""

ASSUMED = {"skill": 676, "task": 3_856, "todowrite": 2_686, "webfetch": 1_293}
"""Loaded by default besides the core (1.18.33), in characters of JSON."""

BEGINS = {"$schema": "https://opencode.ai/config.json"}
"""opencode adds it to a file that lacks it."""

TARGET = DenyTarget("opencode.json", denials, core=CORE, assumed=ASSUMED, begins=BEGINS)
