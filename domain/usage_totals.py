"""
Tokens summed by session and by day: a pure fold over usage records, in any order, with any repeated.

A figure is None as long as no record says it: what was not counted is not 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date, tzinfo

    from tokeneconomizer.domain.usage_record import UsageRecord

UNKNOWN_MODEL = "unknown"
"""Stands where a log names no model."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class Tokens:
    """
    Tokens of some model replies.

    Attributes:
        requests: how many replies.
        input, output, cache_read, cache_write_5m, cache_write_1h, reasoning: as in UsageRecord.

    """

    requests: int = 0
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_1h: int | None = None
    reasoning: int | None = None

    def add(self, usage: UsageRecord | Tokens, requests: int = 1) -> None:
        """Count one reply, or those of another sum."""
        self.requests += requests
        self.input = _sum(self.input, usage.input)
        self.output = _sum(self.output, usage.output)
        self.cache_read = _sum(self.cache_read, usage.cache_read)
        self.cache_write_5m = _sum(self.cache_write_5m, usage.cache_write_5m)
        self.cache_write_1h = _sum(self.cache_write_1h, usage.cache_write_1h)
        self.reasoning = _sum(self.reasoning, usage.reasoning)


def _sum(counted: int | None, more: int | None) -> int | None:
    if counted is None or more is None:
        return more if counted is None else counted
    return counted + more


@dataclass(slots=True)
class SessionTokens:
    """
    What one session took.

    Attributes:
        host, session_id: whose.
        project: the folder that its first reply names.
        first_at, last_at: of its replies; None where no reply has a time.
        models: model -> tokens.

    """

    host: str
    session_id: str
    project: str = ""
    first_at: datetime | None = None
    last_at: datetime | None = None
    models: dict[str, Tokens] = field(default_factory=dict)


@dataclass(slots=True)
class Totals:
    """
    All sums.

    Attributes:
        sessions: by time of their first reply.
        days: (date, or None for replies without a time) -> model -> tokens.
        all: everything.

    """

    sessions: list[SessionTokens]
    days: dict[date | None, dict[str, Tokens]]
    all: Tokens

    def models(self) -> list[str]:
        """Return the names of all models, sorted."""
        return sorted({model for session in self.sessions for model in session.models})


def totals(usage_by_host: Mapping[str, Iterable[UsageRecord]], zone: tzinfo | None) -> Totals:
    """Sum up the records of each host; `zone` decides where a day begins, None for the system's own."""
    sessions: dict[tuple[str, str], SessionTokens] = {}
    parts: dict[tuple[str, str, date | None, str], Tokens] = {}
    for host, records in usage_by_host.items():
        for usage in sorted(each_once(records), key=_in_time):
            day = usage.at.astimezone(zone).date() if usage.at else None
            part = host, usage.session_id, day, usage.model or UNKNOWN_MODEL
            if part not in parts:
                parts[part] = Tokens()
            parts[part].add(usage)
            session = sessions.get((host, usage.session_id))
            if session is None:
                session = sessions[host, usage.session_id] = SessionTokens(host, usage.session_id)
            session.project = session.project or usage.project
            session.first_at = session.first_at or usage.at
            session.last_at = usage.at or session.last_at
    days: dict[date | None, dict[str, Tokens]] = {}
    everything = Tokens()
    # Replies are many and parts are few: a reply is added once, a part to the three sums that it belongs to.
    for (host, session_id, day, model), tokens in parts.items():
        sessions[host, session_id].models.setdefault(model, Tokens()).add(tokens, tokens.requests)
        days.setdefault(day, {}).setdefault(model, Tokens()).add(tokens, tokens.requests)
        everything.add(tokens, tokens.requests)
    ordered = sorted(sessions.values(), key=lambda one: (one.first_at or _LONG_AGO, one.host, one.session_id))
    return Totals(ordered, dict(sorted(days.items(), key=_by_day)), everything)


def each_once(records: Iterable[UsageRecord]) -> list[UsageRecord]:
    """
    Return one record of each usage id, whatever the order.

    The newest counts: an agent writes a reply down several times while it grows. One that a fork copied only
    counts where it is found nowhere else.
    """
    kept: dict[str, UsageRecord] = {}
    for usage in records:
        other = kept.get(usage.usage_id)
        if other is None or _rank(usage) > _rank(other):
            kept[usage.usage_id] = usage
    return list(kept.values())


def _rank(usage: UsageRecord) -> tuple[object, ...]:
    """Order copies of one reply: the newest and largest wins, and of equal ones always the same."""
    numbers = (usage.output, usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)
    return (
        not usage.copied,
        usage.at or _LONG_AGO,
        *(-1 if number is None else number for number in numbers),
        not usage.copied,
        usage.session_id,
        usage.project,
        usage.model,
        usage.agent_id,
    )


def _in_time(usage: UsageRecord) -> tuple[datetime, str]:
    return usage.at or _LONG_AGO, usage.usage_id


def _by_day(item: tuple[date | None, object]) -> str:
    return item[0].isoformat() if item[0] else ""
