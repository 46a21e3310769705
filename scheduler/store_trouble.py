"""
A store that fails while the daemon runs: told once in a while, and never asked again and again.

Whoever calls a hook gets no reply then, answers by itself and spools the payload.
"""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from eventsourcing.persistence import InternalError, OperationalError, PersistenceError

from tokeneconomizer.scheduler.hook_calls import HookCalls
from tokeneconomizer.scheduler.store_guard import is_damage, mark_damaged

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import structlog

    from tokeneconomizer.scheduler.application import Application
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.scheduler.hook_calls import HookCall, HookReply

PAUSE_S = 5.0
"""A locked store makes each try wait for seconds, in which the daemon answers nobody."""

TOLD_EVERY_S = 600.0
"""The log is to show that it goes on, not each call that met it."""


STORE_FAULTS = (OperationalError, InternalError, sqlite3.OperationalError, sqlite3.InternalError)
"""Locked, full, read-only, not to be opened: the library's errors and the driver's."""


class StoreFailing(PersistenceError):
    """The store fails, and that has been told; the call is not acknowledged."""


def is_of_store(error: Exception) -> bool:
    """Return whether the store as a whole is to blame, rather than one stream or one event."""
    return isinstance(error, STORE_FAULTS) or is_damage(error)


class StoreTrouble:
    """
    What is wrong with the store at present.

    Args:
        home: whose store.
        log: the daemon's log.
        give_up: called when the store is damaged, so that nothing more is written to it.
        seconds: a clock that nobody sets.

    Attributes:
        problem: what is wrong, or an empty text.

    """

    def __init__(
        self,
        home: Home,
        log: structlog.stdlib.BoundLogger,
        give_up: Callable[[], None],
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._log = log
        self._give_up = give_up
        self._seconds = seconds
        self._told = -TOLD_EVERY_S
        self._is_damaged = False
        self._pause_ends = 0.0
        self.problem = ""

    def met(self, error: Exception) -> None:
        """Take note of a failure."""
        now = self._seconds()
        words = f"{type(error).__name__}: {error}"
        if is_damage(error) and not self._is_damaged:
            self._is_damaged = True
            mark_damaged(self._home.events, str(error))
            self._log.error("store damaged, the daemon ends", reason=words)
            self._give_up()
        elif not self._is_damaged and (not self.problem or now - self._told >= TOLD_EVERY_S):
            self._told = now
            self._log.error("store fails, hook calls wait in the spool", reason=words)
        self.problem = words
        self._pause_ends = now + PAUSE_S

    def over(self) -> None:
        """Take note that the store works."""
        if self.problem and not self._is_damaged:
            self._log.info("store works again")
            self.problem = ""
            self._pause_ends = 0.0

    def refuse(self) -> None:
        """
        Keep a call from a store that has just failed.

        Raises:
            StoreFailing: it is damaged, or the pause is not over.

        """
        if self._is_damaged or (self.problem and self._seconds() < self._pause_ends):
            raise StoreFailing(self.problem)


class WatchedCalls(HookCalls):
    """Answers hook calls, and takes note of how the store does."""

    def __init__(
        self,
        application: Application,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        trouble: StoreTrouble,
    ) -> None:
        super().__init__(application, log, now)
        self._trouble = trouble

    def answer(self, call: HookCall) -> HookReply:
        """
        Store the call and return its reply.

        Raises:
            StoreFailing: the store fails; the call is not acknowledged.
            Exception: whatever else goes wrong; the call is not acknowledged either.

        """
        self._trouble.refuse()
        try:
            reply = super().answer(call)
        except (PersistenceError, sqlite3.Error) as error:
            if not is_of_store(error):
                raise
            self._trouble.met(error)
            raise StoreFailing(str(error)) from error
        if reply.stream_id is not None:
            self._trouble.over()
        return reply

    def silent_reply(self, call: HookCall) -> HookReply | None:
        """Return the reply where it is certain to say nothing and the store works; else None."""
        return None if self._trouble.problem else super().silent_reply(call)

    def not_delivered(self, reply: HookReply, reason: str) -> None:
        """Take back what a reply said that never reached the agent; a store that fails keeps it as said."""
        try:
            super().not_delivered(reply, reason)
        except (PersistenceError, sqlite3.Error) as error:
            if not is_of_store(error):
                raise
            self._trouble.met(error)
