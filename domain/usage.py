"""Tokens that an agent's own log reports for a session; a stream of its own, never loaded by a hook."""

from __future__ import annotations

from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

NAMESPACE = uuid5(NAMESPACE_URL, "tokeneconomizer:usage")


class UsageEvent(Aggregate.Event):
    """The base of all usage events."""


class UsageOpened(UsageEvent, Aggregate.Created):
    """Usage of this session is counted from here on."""

    TOPIC = "usage.opened"
    host: str
    session_id: str
    repository: str


class UsageRecorded(UsageEvent):
    """What one model reply cost, as reported; None where the log does not say."""

    TOPIC = "usage.recorded"
    message_id: str
    model: str
    provider: str
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    reasoning_tokens: int | None
    sub_agent: str


class Usage(Aggregate):
    """Knows nothing: its events are for the projections."""

    TOPIC = "usage"
    Event = UsageEvent
    Created = UsageOpened
    Recorded = UsageRecorded

    @staticmethod
    def create_id(host: str, session_id: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, f"{host}\n{session_id}")
