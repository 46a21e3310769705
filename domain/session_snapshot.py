"""
A session between two turns as plain JSON, so that a long stream need not be replayed.

A snapshot is only a shortcut: one of another `STATE_VERSION` is passed over, and the events are replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from eventsourcing.domain import CanSnapshotAggregate, DomainEvent
from eventsourcing.utils import register_topic, resolve_topic

if TYPE_CHECKING:
    from tokeneconomizer.domain.session import Session

STATE_VERSION = 5
"""Raise it with every change of `Session.state`."""


@dataclass(frozen=True)
class SessionSnapshot(CanSnapshotAggregate[UUID], DomainEvent):
    """The state of a session at one version of its stream, at which no turn is open."""

    TOPIC = "session.snapshot"
    topic: str
    state_version: int
    state: dict[str, Any]

    @classmethod
    def of(cls, session: Session) -> SessionSnapshot:
        """Take the snapshot of a session whose events are all saved and whose turn is closed."""
        return cls(
            originator_id=session.id,
            originator_version=session.version,
            timestamp=session.modified_on,
            topic="session",
            state_version=STATE_VERSION,
            state=session.state(),
        )

    def mutate(self, _: None) -> Session:
        """Return the session as it was."""
        kind = cast("type[Session]", resolve_topic(self.topic))
        return kind.restored(self)


# The library does so for aggregates' events alone: a process that never made a snapshot could not read one.
register_topic(SessionSnapshot.TOPIC, SessionSnapshot)
