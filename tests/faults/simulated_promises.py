"""What was promised to agents, and whether the files keep it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from tokeneconomizer.domain.session import Session
from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.projections.switch import verify
from tokeneconomizer.projections.table import PROJECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from history import History, Stored
    from simulated_agents import Sent
    from simulated_daemon import Daemon

    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.scheduler.hook_calls import HookReply

SESSION_STATE_BYTES_MAX = 48 * 1024
"""Half of it is the window of 64 calls with their command lines; the rest are ids, kept to be known again."""


@dataclass(frozen=True)
class Acknowledged:
    """A call whose agent got an answer."""

    sent: Sent
    delivery_id: str
    at: datetime


@dataclass
class Promises:
    """Calls that were acknowledged and not seen in the log yet, and those that the hook client answered."""

    history: History
    owed: dict[str, Acknowledged] = field(default_factory=dict)
    _by_client: dict[str, str] = field(default_factory=dict)

    def acknowledge(self, sent: Sent, delivery_id: str, at: datetime) -> None:
        """The call's agent got an answer."""
        self.owed[delivery_id] = Acknowledged(sent, delivery_id, at)

    def answered_by_client(self, sent: Sent, delivery_id: str) -> None:
        """The answer was the empty one."""
        self._by_client[delivery_id] = sent.stream

    def check(self, home: Home, unconfirmed: Iterable[HookReply]) -> None:
        """All that was acknowledged is stored or waits to be, and nothing counts that was never said."""
        self.history.take()
        waiting = {name.rpartition("-")[2] for name in _names_in(home.spool)}
        waiting |= _kept_in(home)
        assert not _names_in(home.refused), "a call was set aside"
        self._check_answers_of_client(waiting, unconfirmed)
        for delivery_id, owed in list(self.owed.items()):
            stream = self.history.streams[owed.sent.stream]
            if owed.sent.is_stored(stream, delivery_id, owed.at):
                del self.owed[delivery_id]
            else:
                assert delivery_id in waiting, f"acknowledged and lost: {owed.sent.event} {owed.sent.ids}"

    def _check_answers_of_client(self, waiting: set[str], unconfirmed: Iterable[HookReply]) -> None:
        outstanding = {(reply.stream_id, said.version) for reply in unconfirmed for said in reply.said}
        for delivery_id in set(self._by_client) - waiting:
            stream_id = self._by_client.pop(delivery_id)
            for version, by in self.history.streams[stream_id].said_by.items():
                counts = by == delivery_id and (UUID(stream_id), version) not in outstanding
                assert not counts, f"counts as said in version {version}, and its agent was told nothing"


def check_order(waiting: Sequence[str], new: Iterable[Stored]) -> None:
    """Spooled calls are stored in the order of their time, which their names begin with."""
    in_order = sorted(waiting, key=lambda name: int(name.partition("-")[0]))
    wanted = [name.rpartition("-")[2] for name in in_order]
    found = [one for one in dict.fromkeys(event.delivery_id for event in new) if one in wanted]
    assert found == [one for one in wanted if one in found], "spooled calls were stored out of order"


def check_views(daemon: Daemon) -> None:
    """What was folded in pieces equals a rebuild."""
    for projection in PROJECTIONS:
        assert verify(daemon.events, daemon.home.views, projection).is_equal, projection.NAME


def check_sessions(daemon: Daemon, history: History) -> None:
    """What is in memory or was restored from a snapshot is what the events say, and stays small."""
    for stream in history.streams:
        found: Any = daemon.store.repository.get(UUID(stream))
        replayed: Any = None
        events: Iterable[Any] = daemon.store.events.get(UUID(stream))
        for event in events:
            replayed = event.mutate(replayed)
        assert found.version == replayed.version
        if isinstance(found, Session):
            assert found.state() == replayed.state(), "a restored session is not the one that was"
            assert found.turn == replayed.turn
            size = len(orjson.dumps([found.state(), found.turn], default=vars))
            assert size <= SESSION_STATE_BYTES_MAX, f"a session's state takes {size} bytes"


def _kept_in(home: Home) -> set[str]:
    data = home.kept.read_bytes() if home.kept.exists() else b""
    return {wire.parse_spooled(data).delivery_id} if data else set()


def _names_in(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if not path.name.startswith(".") and "-" in path.name]
    except FileNotFoundError:
        return []
