"""The daemon's real parts without its event loop, and a disk that fills or stops the world at a statement."""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import structlog

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import is_superseded, open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.application import Application, Surroundings, User
from tokeneconomizer.scheduler.building import hides_hints, settled
from tokeneconomizer.scheduler.envelopes import Envelopes
from tokeneconomizer.scheduler.kept_call import KeptCall
from tokeneconomizer.scheduler.live_calls import LiveCalls
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.spool import Spool
from tokeneconomizer.scheduler.store import EventStore
from tokeneconomizer.scheduler.store_trouble import StoreTrouble, WatchedCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from tokeneconomizer.projections.view import View
    from tokeneconomizer.scheduler.home import Home


def _drop(*_: object) -> NoReturn:
    raise structlog.DropEvent


def _never_damaged() -> None:
    message = "a store that was only full or locked is called damaged"
    raise AssertionError(message)


SILENT_LOG: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    None, processors=[_drop], wrapper_class=structlog.stdlib.BoundLogger
)


class Killed(BaseException):
    """The daemon's process ended here."""


@dataclass
class Disk:
    """The observer of all SQLite connections: fills the disk, or kills, at a statement."""

    writes_failing: int = 0
    fails_at: str = ""
    kills_at: str = ""
    kill: Callable[[], None] = lambda: None
    fired: int = 0
    """How many faults came to pass."""

    def before(self, connection: sqlite3.Connection, statement: str) -> None:
        self._maybe_kill(f"before {statement}")
        if self.fails_at and statement.startswith(self.fails_at) and self.writes_failing:
            self.writes_failing -= 1
            self.fired += 1
            # As SQLite does by itself when a disk is full.
            connection.rollback()
            message = "database or disk is full"
            raise sqlite3.OperationalError(message)

    def after(self, connection: sqlite3.Connection, statement: str) -> None:
        del connection
        self._maybe_kill(f"after {statement}")

    def _maybe_kill(self, moment: str) -> None:
        if self.kills_at and moment.startswith(self.kills_at):
            self.kills_at = ""
            self.fired += 1
            self.kill()
            raise Killed

    def heal(self) -> None:
        self.writes_failing, self.fails_at, self.kills_at = 0, "", ""


class Daemon:
    """What a daemon's process holds, between taking its lock and its end."""

    def __init__(
        self, home: Home, now: Callable[[], datetime], seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._exit = ExitStack()
        self._exit.enter_context(held(home.lock, attempts=1))
        try:
            self.home = home
            self.store = EventStore(home.events, home.key())
            self._exit.callback(self.store.close)
            self.application = Application(
                self.store,
                Hasher(home.key()),
                Configuration,
                Surroundings(lambda folder: Place("example.org/team/project", folder), settled, hides_hints),
                User("/home/dev"),
                Envelopes(),
            )
            trouble = StoreTrouble(home, SILENT_LOG, _never_damaged, seconds)
            self.calls = WatchedCalls(self.application, SILENT_LOG, now, trouble)
            self.spool = Spool(home, SILENT_LOG)
            self.kept = KeptCall(home, SILENT_LOG)
            self._exit.callback(self.kept.close)
            self.live = LiveCalls(self.calls, self.spool, self.kept, SILENT_LOG)
            self.events = self._exit.enter_context(EventLog(home.events))
            self._views: dict[str, View] = {}
        except BaseException:
            self._exit.close()
            raise

    def close(self) -> None:
        for view in self._views.values():
            view.close()
        self._exit.close()

    def view(self, name: str) -> View:
        view = self._views.get(name)
        if view is None or is_superseded(view):
            if view is not None:
                view.close()
            projection = next(projection for projection in PROJECTIONS if name == projection.NAME)
            view = self._views[name] = open_view(self.home.views, projection)
        return view

    def fold(self, batch: int, batches: int) -> None:
        for projection in PROJECTIONS:
            self.view(projection.NAME).catch_up(self.events, batch=batch, max_batches=batches)
