"""A home with its store, application and spool, in the test's own process."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

import structlog
from structlog.testing import LogCapture

from tokeneconomizer.domain.commands import Delivery, HookCommand, Place, SessionKey
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler.application import Answer, Application, Surroundings, User
from tokeneconomizer.scheduler.envelopes import Envelopes
from tokeneconomizer.scheduler.hook_calls import HookCall, HookCalls, HookReply
from tokeneconomizer.scheduler.kept_call import KeptCall
from tokeneconomizer.scheduler.live_calls import LiveCalls
from tokeneconomizer.scheduler.spool import Spool
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from uuid import UUID

    import pytest

    from tokeneconomizer.domain.commands import OpenTurn, Step
    from tokeneconomizer.scheduler.home import Home

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SESSION = SessionKey("claude_code", "session-1")
REPOSITORY = "example.org/team/project"


def capturing_log() -> tuple[structlog.stdlib.BoundLogger, LogCapture]:
    """A log that keeps its entries in memory."""
    captured = LogCapture()
    log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        None, processors=[captured], wrapper_class=structlog.stdlib.BoundLogger
    )
    return log, captured


def rows_of(path: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """What a second process would read in a database."""
    connection = sqlite3.connect(path)
    try:
        return [tuple(row) for row in connection.execute(query, values)]
    finally:
        connection.close()


def topics_in(path: Path) -> list[str]:
    """The stored events in the order of their positions, without the common prefix of sessions."""
    rows = rows_of(path, "SELECT topic FROM stored_events ORDER BY rowid")
    return [str(topic).removeprefix("session.") for (topic,) in rows]


@dataclass
class Asked:
    """Which surroundings the application asked for, and what they answer."""

    places: list[str] = field(default_factory=list)
    logs_read: int = 0
    hides_hints: bool = True
    gives_facts: bool = False
    checkout: str = ""
    repository: str = REPOSITORY
    first_facts: list[tuple[str, str, str]] = field(default_factory=list)

    def place_of(self, folder: str) -> Place:
        self.places.append(folder)
        return Place(self.repository, self.checkout or folder)

    def settled(self, command: HookCommand, _open_turn: OpenTurn) -> HookCommand:
        return command

    def may_give_facts(self, _host: str, _place: Place) -> bool:
        return self.gives_facts

    def answer_hides_hints(self, _command: HookCommand) -> bool:
        self.logs_read += 1
        return self.hides_hints


class Workbench:
    """Everything that answers hook calls in the daemon, with a clock and a configuration of the test's."""

    def __init__(self, home: Home, *, locale: str = "C.UTF-8") -> None:
        home.create()
        self.home = home
        self.at = NOON
        self.settings = Configuration()
        self.asked = Asked()
        self.log, self.captured = capturing_log()
        self.envelopes = Envelopes()
        self.store = EventStore(home.events, home.key())
        self.application = Application(
            self.store,
            Hasher(home.key()),
            lambda: self.settings,
            Surroundings(
                self.asked.place_of,
                self.asked.settled,
                self.asked.answer_hides_hints,
                self.asked.may_give_facts,
                keep_first_facts=lambda *told: self.asked.first_facts.append(told),
            ),
            User("/home/dev", locale),
            self.envelopes,
        )
        self.calls = HookCalls(self.application, self.log, lambda: self.at)
        self.spool = Spool(home, self.log)
        self.kept = KeptCall(home, self.log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kept.close()
        self.store.close()

    def do(self, step: Step | None, *, key: SessionKey = SESSION, delivery_id: str = "") -> Answer:
        """Hand a step to the application, ten seconds after the one before."""
        self.at += timedelta(seconds=10)
        command = HookCommand(key, "", "/home/dev/project", "", step)
        command = self.application.settled(command)
        return self.application.handle(command, Delivery(delivery_id or secrets.token_hex(16), self.at))

    def call(self, payload: bytes, *, delivery_id: str = "", after_s: float = 10) -> HookReply:
        """Hand a hook's payload to the daemon's innermost door, ten seconds after the one before."""
        self.at += timedelta(seconds=after_s)
        return self.calls.answer(
            HookCall("claude_code", "", "plugin", self.time_ns, delivery_id or secrets.token_hex(16), payload)
        )

    @property
    def live(self) -> LiveCalls:
        """What the daemon's server asks."""
        return LiveCalls(self.calls, self.spool, self.kept, self.log)

    @property
    def time_ns(self) -> int:
        return int(self.at.timestamp()) * 1_000_000_000

    def topics(self) -> list[str]:
        return topics_in(self.home.events)

    def warnings(self) -> list[str]:
        """What the log tells besides the ordinary."""
        return [str(entry["event"]) for entry in self.captured.entries if entry["log_level"] != "info"]


def spooled_file(
    home: Home, payload: bytes, *, time_ns: int, delivery_id: str = "", event: str = "-", reply: bytes = b"{}"
) -> Path:
    """What the hook client leaves when it finds no daemon."""
    delivery_id = delivery_id or secrets.token_hex(16)
    spooled = wire.Spooled("claude_code", event, "plugin", time_ns, delivery_id, reply, payload)
    path = home.spool / f"{time_ns}-4711-{delivery_id}"
    path.write_bytes(wire.encode_spooled(spooled))
    return path


class FailingStore:
    """Lets the recorder fail while it is on, or after a number of saves."""

    def __init__(self, bench: Workbench, patch: pytest.MonkeyPatch, error: Exception) -> None:
        self.is_on = True
        self.fails_after: int | None = None
        recorder = bench.store.recorder
        insert = recorder.insert_events

        def insert_or_fail(*arguments: object, **options: object) -> object:
            if self.is_on or self.fails_after == 0:
                raise error
            if self.fails_after is not None:
                self.fails_after -= 1
            return insert(*arguments, **options)  # type: ignore[arg-type]

        patch.setattr(recorder, "insert_events", insert_or_fail)


def stream_of(bench: Workbench, stream_id: UUID) -> list[str]:
    """A stream's topics, as stored."""
    rows = rows_of(
        bench.home.events,
        "SELECT topic FROM stored_events WHERE originator_id = ? ORDER BY originator_version",
        stream_id.hex,
    )
    return [str(topic).removeprefix("session.") for (topic,) in rows]
