"""Reads an event log while it grows, and fails at the first event that could not have happened."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.recorders import chain_link

if TYPE_CHECKING:
    from pathlib import Path

REDIRECTS_PER_TURN = 2
CALLS_BETWEEN_REDIRECTS = 3

_MANY_IN_A_DELIVERY = frozenset({"session.tool_called", "session.tool_returned"})

_NEW_ROWS = """SELECT rowid, originator_id, originator_version, topic, state, chain
    FROM stored_events WHERE rowid > ? ORDER BY rowid"""
_ROW = "SELECT chain FROM stored_events WHERE rowid = ?"


@dataclass(frozen=True)
class Stored:
    """One event as it lies in the table."""

    position: int
    stream: str
    version: int
    topic: str
    data: dict[str, object]

    @property
    def delivery_id(self) -> str:
        return str(self.data.get("delivery_id", ""))

    def text(self, name: str) -> str:
        return str(self.data[name])

    def number(self, name: str) -> int:
        return int(str(self.data[name]))

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.text("timestamp"))


@dataclass
class Stream:
    """What the events of one stream have come to."""

    version: int = 0
    turn: int = 0
    turn_is_open: bool = False
    accounted: int = 0
    """The newest turn whose context was accounted."""
    was_archived: bool = False
    archived_by: str | None = None
    """The delivery that archived it, until something else happens; empty after a silence."""
    called: set[str] = field(default_factory=set)
    returned: dict[str, None] = field(default_factory=dict)
    """In this order."""
    prompts: set[str] = field(default_factory=set)
    deliveries: dict[str, set[str]] = field(default_factory=dict)
    """The topics that each delivery brought."""
    starts: list[tuple[str, datetime]] = field(default_factory=list)
    said: dict[int, str] = field(default_factory=dict)
    """What counts as delivered, by its event's version."""
    said_by: dict[int, str] = field(default_factory=dict)
    """The deliveries that they came with."""
    redirects: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Those of the turn that count: evidence and number of the call."""
    hints: set[int] = field(default_factory=set)


class History:
    """The log of one home as a second process sees it."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self.key = key
        self.streams: defaultdict[str, Stream] = defaultdict(Stream)
        self.position = 0
        self.link = b""
        self.counts: defaultdict[str, int] = defaultdict(int)
        self._delivery: tuple[str, str] | None = None

    def take(self) -> list[Stored]:
        """Check and return what is new."""
        if not self.path.exists():
            assert self.position == 0, "the store is gone"
            return []
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return self._take(connection)
        finally:
            connection.close()

    def _take(self, connection: sqlite3.Connection) -> list[Stored]:
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'stored_events'")
        if not tables.fetchone()[0]:
            assert self.position == 0, "the events are gone"
            return []
        if self.position:
            row = connection.execute(_ROW, (self.position,)).fetchone()
            assert row is not None, f"event {self.position} was committed and is lost"
            assert row[0] == self.link, f"event {self.position} was committed and is another one now"
        new = []
        for position, stream, version, topic, state, chain in connection.execute(_NEW_ROWS, (self.position,)):
            assert position == self.position + 1, f"event {position} follows event {self.position}"
            self.position = position
            self.link = chain_link(self.key, self.link, (stream, version, topic, state))
            assert chain == self.link, f"event {position} does not fit the chain"
            stored = Stored(position, stream, version, topic, json.loads(state))
            self._check(stored)
            new.append(stored)
        return new

    def _check(self, stored: Stored) -> None:
        stream = self.streams[stored.stream]
        assert stored.version == stream.version + 1, f"version {stored.version} follows {stream.version}"
        stream.version = stored.version
        self.counts[stored.topic] += 1
        self._check_stored_once(stream, stored)
        if not stored.topic.startswith("session."):
            return
        self._check_archived(stream, stored)
        check = _CHECKS.get(stored.topic.removeprefix("session."))
        if check is not None:
            check(stream, stored)

    def _check_stored_once(self, stream: Stream, stored: Stored) -> None:
        delivery = (stored.stream, stored.delivery_id) if stored.delivery_id else None
        if delivery is not None:
            if delivery != self._delivery:
                assert stored.delivery_id not in stream.deliveries, "a delivery was stored twice"
            topics = stream.deliveries.setdefault(stored.delivery_id, set())
            assert stored.topic not in topics - _MANY_IN_A_DELIVERY, "a delivery was stored twice"
            topics.add(stored.topic)
        self._delivery = delivery

    def _check_archived(self, stream: Stream, stored: Stored) -> None:
        if stream.archived_by is not None and stored.topic != "session.delivery_failed":
            is_new_call = stored.delivery_id not in {"", stream.archived_by}
            assert is_new_call, f"{stored.topic} after the session was archived"
            stream.archived_by = None
        if stored.topic == "session.archived":
            stream.archived_by = stored.delivery_id
            stream.was_archived = True


def _started(stream: Stream, stored: Stored) -> None:
    assert stored.version == 1, "a session started twice"
    stream.starts.append((stored.text("content_hash"), stored.at))


def _resumed(stream: Stream, stored: Stored) -> None:
    stream.starts.append((stored.text("content_hash"), stored.at))


def _prompt_submitted(stream: Stream, stored: Stored) -> None:
    prompt = stored.text("prompt_id")
    assert prompt not in stream.prompts, f"prompt {prompt} was stored twice"
    stream.prompts.add(prompt)
    assert not stream.turn_is_open, "a prompt opened a turn within a turn"
    _open_turn(stream, stored.number("turn"))


def _tool_called(stream: Stream, stored: Stored) -> None:
    call = stored.text("call_id")
    assert call not in stream.called | stream.returned.keys(), f"call {call} was stored twice"
    stream.called.add(call)
    if not stream.turn_is_open:
        _open_turn(stream, stored.number("turn"))
    assert stored.number("turn") == stream.turn, "a call of another turn"


def _tool_returned(stream: Stream, stored: Stored) -> None:
    call = stored.text("call_id")
    assert call in stream.called, f"call {call} returned and was never called"
    stream.called.remove(call)
    stream.returned[call] = None


def _redirected(stream: Stream, stored: Stored) -> None:
    assert stored.number("turn") == stream.turn
    assert stream.turn_is_open, "a redirect outside of a turn"
    assert len(stream.redirects) < REDIRECTS_PER_TURN, "a third redirect in a turn"
    evidence, call_number = stored.text("evidence_hash"), stored.number("call_number")
    for given, at_call in stream.redirects.values():
        assert given != evidence, "a second redirect for the same evidence"
        assert call_number - at_call >= CALLS_BETWEEN_REDIRECTS, "a second redirect at once"
    stream.redirects[stored.version] = (evidence, call_number)
    _count_as_said(stream, stored)


def _stop_hinted(stream: Stream, stored: Stored) -> None:
    assert stream.redirects, "a hint without a redirect"
    assert not stream.hints, "a second hint in a turn"
    stream.hints.add(stored.version)
    _count_as_said(stream, stored)


def _count_as_said(stream: Stream, stored: Stored) -> None:
    stream.said[stored.version] = stored.topic
    stream.said_by[stored.version] = stored.delivery_id


def _delivery_failed(stream: Stream, stored: Stored) -> None:
    version = stored.number("failed_version")
    assert stream.said.pop(version, "") == stored.text("failed_topic"), "taken back what did not count"
    del stream.said_by[version]
    stream.redirects.pop(version, None)
    stream.hints.discard(version)


def _turn_ended(stream: Stream, stored: Stored) -> None:
    assert stream.turn_is_open, "a turn ended that was not open"
    assert stored.number("turn") == stream.turn
    assert not stream.called, "a turn ended with a call that never returned"
    stream.turn_is_open = False
    stream.redirects.clear()
    stream.hints.clear()


def _context_accounted(stream: Stream, stored: Stored) -> None:
    turn = stored.number("turn")
    assert turn <= stream.turn - stream.turn_is_open, "a turn was accounted that is not over"
    # Calls that were found later, by no hook call, have their turn accounted again.
    assert turn > stream.accounted or not stored.delivery_id, "a turn was accounted twice"
    stream.accounted = max(turn, stream.accounted)
    for kind, entry in json.loads(stored.text("snapshot"))["entries"].items():
        assert entry["tokens"] > 0, f"{kind} has nothing"
        assert entry["source"], f"{kind} comes from nowhere"


def _open_turn(stream: Stream, number: int) -> None:
    assert number == stream.turn + 1, f"turn {number} follows turn {stream.turn}"
    stream.turn = number
    stream.turn_is_open = True


_CHECKS = {
    "started": _started,
    "resumed": _resumed,
    "prompt_submitted": _prompt_submitted,
    "tool_called": _tool_called,
    "tool_returned": _tool_returned,
    "redirected": _redirected,
    "stop_hinted": _stop_hinted,
    "facts_injected": _count_as_said,
    "delivery_failed": _delivery_failed,
    "turn_ended": _turn_ended,
    "context_accounted": _context_accounted,
}
