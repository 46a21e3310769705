"""What the user set: installation per agent, policies, and what our own side calls cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Self
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

if TYPE_CHECKING:
    from datetime import datetime

NAMESPACE = uuid5(NAMESPACE_URL, "tokeneconomizer:setup")


@dataclass(frozen=True, slots=True)
class SideCall:
    """
    A call of our own through the user's agent; the names are those of `SideCallMade`.

    Attributes:
        side_call_id: what other events know it by.
        model: empty where it gave no answer.
        cost_usd: None where that is not known.

    """

    side_call_id: str
    purpose: str
    model: str
    sent_characters: int
    cost_usd: float | None


class SetupEvent(Aggregate.Event):
    """The base of all setup events."""

    def apply(self, aggregate: Setup) -> None:
        """Remember what the next change is compared with."""
        aggregate.evolve(self)


class SetupOpened(SetupEvent, Aggregate.Created):
    """The agent was set up, or a policy set for it, for the first time."""

    TOPIC = "setup.opened"
    host: str


class SetupChanged(SetupEvent):
    """Hooks, plugin or skills were installed into or removed from an agent."""

    TOPIC = "setup.changed"
    action: str
    """`install` or `uninstall`."""
    files: list[str]
    """The files that changed, as the user would name them."""
    program_version: str
    agent_version: str


class SideCallMade(SetupEvent):
    """A call of our own through the user's agent, with what it cost."""

    TOPIC = "setup.side_call_made"
    side_call_id: str
    purpose: str
    model: str
    sent_characters: int
    cost_usd: float | None


class PolicySet(SetupEvent):
    """A configuration value changed; stored when the change is seen."""

    TOPIC = "setup.policy_set"
    key: str
    value: str
    """Canonical JSON; `null` when the user's value was removed."""
    repository: str


class Setup(Aggregate):
    """The installation and policies of one agent, or of all."""

    TOPIC = "setup"
    Event = SetupEvent
    Created = SetupOpened
    Changed = SetupChanged
    SideCallMade = SideCallMade
    PolicySet = PolicySet

    def __init__(self) -> None:
        self.installed = False
        self.policies: dict[str, str] = {}
        self._newest_day = ""
        self._side_calls: dict[str, int] = {}

    @staticmethod
    def create_id(host: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, host)

    @classmethod
    def open(cls, host: str, timestamp: datetime) -> Self:
        """Begin the stream of an agent."""
        return cls._create(cls.Created, id=cls.create_id(host), timestamp=timestamp, host=host)

    def side_calls_on(self, at: datetime, purpose: str) -> int:
        """Return how many side calls of a purpose were made on a time's day (UTC), if it is the newest."""
        return self._side_calls.get(purpose, 0) if _day_of(at) == self._newest_day else 0

    def evolve(self, event: SetupEvent) -> None:
        """Take in one event."""
        if isinstance(event, SetupChanged):
            self.installed = event.action == "install"
        elif isinstance(event, PolicySet):
            self.policies[policy_name(event.key, event.repository)] = event.value
        elif isinstance(event, SideCallMade):
            day = _day_of(event.timestamp)
            if day != self._newest_day:
                self._newest_day, self._side_calls = day, {}
            self._side_calls[event.purpose] = self._side_calls.get(event.purpose, 0) + 1


def _day_of(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


def policy_name(key: str, repository: str) -> str:
    """Return the name under which a policy is remembered: per key, or per repository and key."""
    return f"{repository}\n{key}" if repository else key
