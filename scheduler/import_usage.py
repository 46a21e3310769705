"""Tokens from the agents' logs into the store: one event per model reply, and one more when it grew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.redaction import scrub
from tokeneconomizer.domain.usage import Usage, UsageOpened, UsageRecorded
from tokeneconomizer.domain.usage_totals import each_once
from tokeneconomizer.hosts.records import LoggedSession
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.imported_events import encoded
from tokeneconomizer.scheduler.importing import send_in_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from eventsourcing.domain import DomainEventProtocol

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.scheduler.importing import Ground

NO_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Of a reply whose log names no time; an event needs one."""

_NUMBERS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_5m_tokens": "cache_write_5m",
    "cache_write_1h_tokens": "cache_write_1h",
    "reasoning_tokens": "reasoning",
}
"""Field of UsageRecorded -> field of UsageRecord."""


def import_usage(
    ground: Ground, host: str, sessions: Mapping[str, LoggedSession], records: Iterable[UsageRecord]
) -> int:
    """
    Have the replies of one log stored that are new, or that grew since; return how many events were new.

    Args:
        ground: the store, and the way into it.
        host: the agent.
        sessions: what the log says of each session in it, by id.
        records: of whole lines of the log.

    """
    by_session: dict[str, list[UsageRecord]] = {}
    for usage in each_once(records):
        by_session.setdefault(usage.session_id, []).append(usage)
    new = 0
    for session_id, usages in by_session.items():
        session = sessions.get(session_id) or LoggedSession(0, None, session_id, folder=usages[0].project)
        events = _new_events(ground, host, session, usages)
        new += send_in_batches(ground, encoded(events))
    return new


def _new_events(
    ground: Ground, host: str, session: LoggedSession, usages: list[UsageRecord]
) -> list[DomainEventProtocol[UUID]]:
    stream_id = Usage.create_id(host, label(session.session_id))
    stored = [row for row in ground.log.stream(stream_id.hex) if isinstance(row, EventRow)]
    known = {row.data.get("message_id"): row.data for row in stored}
    new = [usage for usage in usages if not _is_known(usage, known)]
    new.sort(key=lambda usage: (usage.at or NO_TIME, usage.usage_id))
    if not new:
        return []
    version = stored[-1].stream_version if stored else 0
    events: list[DomainEventProtocol[UUID]] = []
    if not stored:
        version = 1
        place = ground.place_of(session)
        events.append(_opened(stream_id, host, session.session_id, place.repository, new[0].at or NO_TIME))
    events += [_recorded(stream_id, version + number, usage) for number, usage in enumerate(new, start=1)]
    return events


def _is_known(usage: UsageRecord, known: dict[object, dict[str, object]]) -> bool:
    data = known.get(label(usage.usage_id))
    return data is not None and all(data[name] == getattr(usage, field) for name, field in _NUMBERS.items())


def _opened(stream_id: UUID, host: str, session_id: str, repository: str, at: datetime) -> UsageOpened:
    fields: dict[str, Any] = {
        "host": host,
        "session_id": label(session_id),
        "repository": scrub(repository),
    }
    return UsageOpened(
        originator_topic=Usage.TOPIC,
        originator_id=stream_id,
        originator_version=1,
        timestamp=at,
        **fields,
    )


def _recorded(stream_id: UUID, version: int, usage: UsageRecord) -> UsageRecorded:
    fields: dict[str, Any] = {
        "message_id": label(usage.usage_id),
        "model": label(usage.model),
        "provider": label(usage.provider),
        "sub_agent": label(usage.agent_id),
    }
    fields |= {name: getattr(usage, field) for name, field in _NUMBERS.items()}
    return UsageRecorded(
        originator_id=stream_id, originator_version=version, timestamp=usage.at or NO_TIME, **fields
    )
