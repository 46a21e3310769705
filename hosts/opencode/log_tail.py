"""Nothing of opencode's log is read while it works: its hooks tell how every call ended, refused or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call


def settled(command: HookCommand, _transcript_tail: bytes) -> HookCommand:
    """Return the command as it is; see `hosts.host.Host.settled`."""
    return command


def calls_of_turn(_transcript_tail: bytes, _prompt_id: str) -> tuple[Call, ...]:
    """Return none: a call that the user interrupts is told as a failed one."""
    return ()
