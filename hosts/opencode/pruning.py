"""opencode: `tools` of the checkout's `opencode.json` (1.18.33)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, SwitchedOff, member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document


def denials(document: Document, names: Sequence[str], _circumstances: Circumstances) -> list[Denial]:
    """Return the switches to be added; what the user set stays."""
    return [SwitchedOff(name, ("tools", name)) for name in names if member(document, ("tools", name)) is None]


CORE = frozenset({"bash", "edit", "glob", "grep", "invalid", "read", "write"})
"""What every task needs; `invalid` stands for a tool that does not exist."""

TARGET = DenyTarget(
    "opencode.json", denials, core=CORE, begins={"$schema": "https://opencode.ai/config.json"}
)
