"""
History into the store: a log's turns and tokens as events, each once, however often it is read.

The same log comes to the same events, so that what is stored already is told by its version in the stream.
Runs in a child process; events go to whoever may write them, in bounded batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import Delivery, EndTurn, HookCommand, Place, SessionKey
from tokeneconomizer.domain.ending import end_turn
from tokeneconomizer.domain.handle import Rules, handle
from tokeneconomizer.domain.imported import SOURCE, start, stream_id_of
from tokeneconomizer.domain.labels import label
from tokeneconomizer.domain.redaction import scrub
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.session_snapshot import STATE_VERSION, SessionSnapshot
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.imported_events import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from eventsourcing.domain import DomainEventProtocol

    from tokeneconomizer.domain.accounting.turn import Accounting
    from tokeneconomizer.domain.digests import Hasher
    from tokeneconomizer.hosts.records import LoggedSession
    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.scheduler.import_turns import Turn
    from tokeneconomizer.scheduler.imported_events import ImportedEvent

EVENTS_PER_BATCH = 100
"""A batch keeps the daemon from its hooks for some 3 ms."""


@dataclass(frozen=True, slots=True)
class Ground:
    """
    What an import stands on.

    Attributes:
        log: the store, to read.
        hasher: keyed hashes of this home.
        user_home: shortened in stored command lines.
        place_of: repository and checkout of a session.
        send: has events stored; returns when they are.
        accounting: how turns are accounted.
        ask: has a command done, as `scheduler.control` takes it.

    """

    log: EventLog
    hasher: Hasher
    user_home: str
    place_of: Callable[[LoggedSession], Place]
    send: Callable[[list[ImportedEvent]], None]
    accounting: Accounting | None = None
    ask: Callable[[Mapping[str, object]], object] = lambda _request: None


def send_in_batches(ground: Ground, events: list[ImportedEvent]) -> int:
    """Have events stored; return how many."""
    for first in range(0, len(events), EVENTS_PER_BATCH):
        ground.send(events[first : first + EVENTS_PER_BATCH])
    return len(events)


class TurnImport:
    """Imports turns, in the order of their log."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._streams: dict[SessionKey, _Stream] = {}

    def take(self, turn: Turn) -> int:
        """Import a turn that is over; return how many events were new."""
        stream = self._streams.get(turn.key)
        if stream is None:
            stream = self._streams[turn.key] = _Stream(turn, self._ground)
        if not stream.takes(turn.began_at):
            return 0
        return send_in_batches(self._ground, encoded(stream.events_of(turn)))


class _Stream:
    """The import stream of one agent of a session."""

    def __init__(self, turn: Turn, ground: Ground) -> None:
        self._ground = ground
        self._live_since = _first_time(ground.log, Session.stream_id(turn.key).hex)
        stored = [row for row in ground.log.stream(stream_id_of(turn.key).hex) if isinstance(row, EventRow)]
        self._stored_version = stored[-1].stream_version if stored else 0
        self._after: datetime | None = None
        if stored and stored[0].data.get("source") != SOURCE:
            # An older program came to other events: they stay, and only later turns are added.
            self._after = datetime.fromisoformat(stored[-1].at)
            self._session = _restored(stored)
        else:
            self._session = self._started(turn)

    def takes(self, began_at: datetime) -> bool:
        """Whether a turn is history, and is not stored in another form."""
        if self._live_since is not None and began_at >= self._live_since:
            return False
        return self._after is None or began_at > self._after

    def events_of(self, turn: Turn) -> list[DomainEventProtocol[UUID]]:
        """Return the events of a turn that are not stored yet."""
        accounting = self._ground.accounting
        if accounting is not None:
            accounting = replace(accounting, told=turn.told, as_of=turn.ended_at)
        rules = Rules(guard_is_on=False, home=self._ground.user_home, accounting=accounting)
        for at, step in turn.steps:
            command = HookCommand(turn.key, "", "", "", step)
            delivery = Delivery("", turn.ended_at if isinstance(step, EndTurn) else at)
            handle(self._session, command, delivery, self._no_place, rules, self._ground.hasher)
        end_turn(self._session, "no_stop", turn.ended_at, delivery_id="", accounting=accounting)
        events = self._session.collect_events()
        return [event for event in events if event.originator_version > self._stored_version]

    def _started(self, turn: Turn) -> Session:
        place = self._ground.place_of(turn.session)
        key = turn.key
        return start(
            key,
            turn.session.at or turn.began_at,
            delivery_id="",
            parent=stream_id_of(replace(key, agent_id="")).hex if key.agent_id else "",
            agent_type=label(turn.session.agent_type),
            repository=scrub(place.repository),
            checkout=scrub(place.checkout),
            model="",
            content_hash="",
            limits=Rules().limits.to_json(),
        )

    @staticmethod
    def _no_place() -> Place:
        message = "an imported session is begun before its turns"
        raise AssertionError(message)


def _first_time(log: EventLog, stream_id: str) -> datetime | None:
    first = log.first(stream_id)
    return datetime.fromisoformat(first.at) if isinstance(first, EventRow) else None


def _restored(stored: list[EventRow]) -> Session:
    """Return the session behind its stored turns."""
    first, last = stored[0].data, stored[-1]
    names = ("host", "session_id", "agent_id")
    session = start(
        SessionKey(*(str(first[name]) for name in names)),
        datetime.fromisoformat(stored[0].at),
        **{name: value for name, value in first.items() if name not in {*names, "source"}},
    )
    state = session.state() | {"turn": max(_turn_of(row) for row in stored)}
    snapshot = SessionSnapshot(
        originator_id=session.id,
        originator_version=last.stream_version,
        timestamp=datetime.fromisoformat(last.at),
        topic=Session.TOPIC,
        state_version=STATE_VERSION,
        state=state,
    )
    return Session.restored(snapshot)


def _turn_of(row: EventRow) -> int:
    turn = row.data.get("turn")
    return turn if isinstance(turn, int) else 0
