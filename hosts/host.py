"""What every agent's package offers: one shape for all, checked by the type checker in `hosts.table`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.decisions import Decision
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.log_format import AgentHomes


class Host(Protocol):
    """One agent; implemented by a module, not by a class."""

    NAME: str
    """The agent's name in events, flags and folders."""

    def decode(self, payload: Mapping[str, object], event_flag: str) -> HookCommand:
        """
        Read a hook's payload.

        Args:
            payload: the parsed JSON object.
            event_flag: the event named at registration, for payloads that do not name it.

        Raises:
            BadPayload: when a field that we need is missing or of another type.

        """
        ...

    def encode(self, event: str, decision: Decision) -> bytes:
        """Put a decision into the agent's own words; the empty valid reply when nothing is said."""
        ...

    def settled(self, command: HookCommand, transcript_tail: bytes) -> HookCommand:
        """Return the command with the statuses that the last lines of the agent's log tell for certain."""
        ...

    def calls_of_turn(self, transcript_tail: bytes, prompt_id: str) -> tuple[Call, ...]:
        """Return the calls with results that the agent's log has for one prompt, in order."""
        ...

    def context_in(self, reply: bytes) -> str:
        """Return the context for the model that a reply holds; empty where it holds none."""
        ...

    def trust_file(self, homes: AgentHomes) -> Path:
        """Return the file in which the agent notes the folders that its user trusts."""
        ...

    def trusts(self, content: bytes, folders: Collection[str]) -> bool:
        """Return whether that file's content says that one of the folders is trusted."""
        ...

    def hides_hints(self, transcript_tail: bytes) -> bool:
        """Return whether the agent version seen in its log's last lines hides messages from its user."""
        ...
