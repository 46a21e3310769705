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


TARGET = DenyTarget(".claude/settings.local.json", denials)
