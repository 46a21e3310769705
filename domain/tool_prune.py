"""The tools that a checkout's agent need not load: from the catalogue to the written deny list."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Self
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

from tokeneconomizer.domain.deny_list import GIT_LIST

if TYPE_CHECKING:
    from datetime import datetime

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
        """Remember what the next step is decided by."""
        aggregate.evolve(self)


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
    """
    The file was left untouched; the list stays pending.

    Of GIT_LIST it says that git goes on showing the agent's file, or goes on hiding it.
    """

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
        self.agent_version = ""
        self.catalog = "[]"
        self.names: list[str] = []
        """Of the newest proposal, or of the list that was approved."""
        self.approved_at: datetime | None = None
        self.written: list[str] = []
        """What stands in the agent's file now."""
        self.refusal = ("", "")
        """Reason and detail of the newest one, until a file is changed."""
        self.restored_at: dict[str, datetime] = {}

    @staticmethod
    def create_id(host: str, checkout: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, f"{host}\n{checkout}")

    @classmethod
    def open(cls, host: str, repository: str, checkout: str, timestamp: datetime) -> Self:
        """Begin the stream of a checkout with an agent."""
        return cls._create(
            cls.Created,
            id=cls.create_id(host, checkout),
            timestamp=timestamp,
            host=host,
            repository=repository,
            checkout=checkout,
        )

    def has_catalog(self, agent_version: object, catalog: object) -> bool:
        """Tell whether that is the catalogue which was recorded last."""
        return (self.agent_version, self.catalog) == (agent_version, catalog)

    def evolve(self, event: ToolPruneEvent) -> None:
        """Take in one event."""
        if not (isinstance(event, DenyListRefused) and event.file == GIT_LIST):
            self.state = _STATE_AFTER.get(type(event), self.state)
        match event:
            case CatalogRecorded():
                self.agent_version, self.catalog = event.agent_version, event.catalog
            case PruneProposed():
                self.names, self.approved_at = event.names, None
            case DenyListPended():
                self.names, self.approved_at = event.names, event.timestamp
                self.refusal = ("", "")
            case DenyListWritten():
                self.written = [*self.written, *(name for name in event.names if name not in self.written)]
                # Others that were approved go on waiting.
                self.names = [name for name in self.names if name not in event.names]
                self.approved_at = self.approved_at if self.names else None
                self.refusal = ("", "")
            case DenyListRefused():
                self.refusal = (event.reason, event.detail)
            case DenyListRestored():
                self.written = [name for name in self.written if name not in event.names]
                self.restored_at |= dict.fromkeys(event.names, event.timestamp)
                self.refusal = ("", "")
            case _:
                pass
