"""Events that an import made, on their way from its process to the one that may write the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.stream_ids import is_imported
from tokeneconomizer.scheduler.store import FlatMapper, OrjsonTranscoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eventsourcing.domain import DomainEventProtocol

STREAM_ID_DIGITS = 32

USAGE_TOPICS = "usage."


class ImportedEvent(NamedTuple):
    """An event as it lies in the store: stream id (32 hexadecimal digits), version, topic, JSON."""

    stream_id: str
    version: int
    topic: str
    state: str

    @classmethod
    def of(cls, values: object) -> Self:
        """
        Return the event of four JSON values.

        Raises:
            TokeneconomizerError: they are none, or the event belongs to a stream that no import may touch.

        """
        match values:
            case [str() as stream_id, int() as version, str() as topic, str() as state] if (
                len(stream_id) == STREAM_ID_DIGITS
            ):
                if is_imported(stream_id) or topic.startswith(USAGE_TOPICS):
                    return cls(stream_id, version, topic, state)
        message = "an import sent what is no imported event: run `te import` of this program's version"
        raise TokeneconomizerError(message)

    def stored(self) -> StoredEvent:
        """Return the event as the store takes it."""
        return StoredEvent(UUID(self.stream_id), self.version, self.topic, self.state.encode())


def encoded(events: Iterable[DomainEventProtocol[UUID]]) -> list[ImportedEvent]:
    """Return domain events as they lie in the store."""
    mapper = FlatMapper(OrjsonTranscoder())
    return [_sent(mapper.to_stored_event(event)) for event in events]


def _sent(event: StoredEvent) -> ImportedEvent:
    originator = event.originator_id
    stream_id = originator.hex if isinstance(originator, UUID) else originator
    return ImportedEvent(stream_id, event.originator_version, event.topic, event.state.decode())


def decoded(request: Sequence[object]) -> list[ImportedEvent]:
    """Return the events of a request; see `ImportedEvent.of`."""
    return [ImportedEvent.of(values) for values in request]
