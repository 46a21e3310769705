"""The tools that a checkout's agent need not load: from the catalogue to the written deny list."""

from __future__ import annotations

from enum import StrEnum
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

NAMESPACE = uuid5(NAMESPACE_URL, "tokeneconomizer:tool_prune")


class PruneState(StrEnum):
    """Where a checkout's deny list stands."""

    OBSERVING = "observing"
    PROPOSED = "proposed"
    PENDING = "pending"
    WRITTEN = "written"
    RESTORED = "restored"
    REFUSED = "refused"


class ToolPruneEvent(Aggregate.Event):
    """The base of all pruning events."""

    def apply(self, aggregate: ToolPrune) -> None:
        """Move the checkout to the state that the event names."""
        state = _STATE_AFTER.get(type(self))
        if state is not None:
            aggregate.state = state


class ToolPruneOpened(ToolPruneEvent, Aggregate.Created):
    """The checkout was seen for the first time with this agent."""

    TOPIC = "tool_prune.opened"
    host: str
    repository: str
    checkout: str


class CatalogRecorded(ToolPruneEvent):
    """The tools that the agent offers here, with their sizes."""

    TOPIC = "tool_prune.catalog_recorded"
    agent_version: str
    catalog: str
    """Canonical JSON: name, server, characters, loaded or deferred."""


class PruneProposed(ToolPruneEvent):
    """The evidence allows to deny these tools."""

    TOPIC = "tool_prune.proposed"
    names: list[str]
    evidence: str
    """Canonical JSON: prompts and sessions since the last use, per name."""
    limits: str


class DenyListPended(ToolPruneEvent):
    """The list waits for the repository to be idle."""

    TOPIC = "tool_prune.deny_list_pended"
    names: list[str]
    approved_by: str
    """`auto` or `user`."""


class DenyListWritten(ToolPruneEvent):
    """The list stands in the agent's own config file."""

    TOPIC = "tool_prune.deny_list_written"
    names: list[str]
    file: str
    overridden: bool
    """Whether the user had it written without the idle wait."""
    idle_ms: int | None


class DenyListRefused(ToolPruneEvent):
    """The file was left untouched; the list stays pending."""

    TOPIC = "tool_prune.deny_list_refused"
    names: list[str]
    file: str
    reason: str
    detail: str


class DenyListRestored(ToolPruneEvent):
    """Exactly what was added was removed again."""

    TOPIC = "tool_prune.deny_list_restored"
    names: list[str]
    file: str


_STATE_AFTER: dict[type[ToolPruneEvent], PruneState] = {
    PruneProposed: PruneState.PROPOSED,
    DenyListPended: PruneState.PENDING,
    DenyListWritten: PruneState.WRITTEN,
    DenyListRefused: PruneState.REFUSED,
    DenyListRestored: PruneState.RESTORED,
}


class ToolPrune(Aggregate):
    """Where the deny list of one checkout and agent stands."""

    TOPIC = "tool_prune"
    Event = ToolPruneEvent
    Created = ToolPruneOpened
    CatalogRecorded = CatalogRecorded
    PruneProposed = PruneProposed
    DenyListPended = DenyListPended
    DenyListWritten = DenyListWritten
    DenyListRefused = DenyListRefused
    DenyListRestored = DenyListRestored

    def __init__(self) -> None:
        self.state = PruneState.OBSERVING

    @staticmethod
    def create_id(host: str, checkout: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, f"{host}\n{checkout}")
