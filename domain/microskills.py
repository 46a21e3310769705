"""What a repository taught its sessions: the rendered block and the user's own words on facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

if TYPE_CHECKING:
    from datetime import datetime

NAMESPACE = uuid5(NAMESPACE_URL, "tokeneconomizer:microskills")


@dataclass(frozen=True, slots=True)
class GivenBlock:
    """
    A block as a session's start is given it.

    Attributes:
        version: of its BlockRendered event in the repository's stream; 0 where that cannot be told.

    """

    text: str = ""
    version: int = 0


NO_BLOCK = GivenBlock()


class MicroskillsEvent(Aggregate.Event):
    """The base of all microskill events."""


class MicroskillsOpened(MicroskillsEvent, Aggregate.Created):
    """The repository was seen for the first time."""

    TOPIC = "microskills.opened"
    repository: str


class BlockRendered(MicroskillsEvent):
    """The block for the next session, fixed from here on."""

    TOPIC = "microskills.block_rendered"
    text: str
    facts: str
    """Canonical JSON: the facts with their evidence."""
    log_position: int
    rule_version: int

    def apply(self, aggregate: Microskills) -> None:
        """Make it the repository's block."""
        aggregate.block = GivenBlock(self.text, self.originator_version)


class FactPinned(MicroskillsEvent):
    """The user wants the fact to stay."""

    TOPIC = "microskills.fact_pinned"
    fact_id: str


class FactRetiredByUser(MicroskillsEvent):
    """The user wants the fact gone."""

    TOPIC = "microskills.fact_retired_by_user"
    fact_id: str


class FactProposed(MicroskillsEvent):
    """A side call proposed a fact."""

    TOPIC = "microskills.fact_proposed"
    class_version = 2
    fact_id: str
    text: str
    """The fact in one sentence."""
    side_call_id: str
    """The id of the stream that was asked about."""
    purpose: str = ""
    command: str = ""
    """The words by which the command is known again."""
    instead_of: str = ""
    """Those of the way that failed, or empty."""
    shown: str = ""
    """Canonical JSON: the attempts of that stream which bear it out."""

    @staticmethod
    def upcast_v1_v2(state: dict[str, object]) -> None:
        """Version 1 was never stored by a proposer: it bears nothing out."""
        state |= {"purpose": "", "command": "", "instead_of": "", "shown": ""}


class IdentityLinked(MicroskillsEvent):
    """The repository is the same as another one, whose origin was added or changed."""

    TOPIC = "microskills.identity_linked"
    other_repository: str


class Microskills(Aggregate):
    """Knows only the newest block."""

    TOPIC = "microskills"
    Event = MicroskillsEvent
    Created = MicroskillsOpened
    BlockRendered = BlockRendered
    FactPinned = FactPinned
    FactRetiredByUser = FactRetiredByUser
    FactProposed = FactProposed
    IdentityLinked = IdentityLinked

    def __init__(self, repository: str) -> None:
        self.repository = repository
        self.block = NO_BLOCK

    @staticmethod
    def create_id(repository: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, repository)

    @classmethod
    def open(cls, repository: str, timestamp: datetime) -> Self:
        """Begin the stream of a repository."""
        stream_id = cls.create_id(repository)
        return cls._create(cls.Created, id=stream_id, timestamp=timestamp, repository=repository)
