"""
The one call that is answered before it is stored: on disk meanwhile, as the spool would have it.

A kill of the process loses nothing of the file, like the store's own writes; a power cut may. It is emptied
as soon as the call is stored.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler.refused import Refused
from tokeneconomizer.scheduler.spool import as_spooled, spooled_call

if TYPE_CHECKING:
    import structlog

    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.scheduler.hook_calls import HookCall


class KeptCall:
    """
    A file that holds one call or nothing; what a daemon that was killed left in it goes on waiting.

    Args:
        home: where it lies.
        log: the daemon's log.

    Attributes:
        waiting: the call that is answered and not stored.

    """

    def __init__(self, home: Home, log: structlog.stdlib.BoundLogger) -> None:
        self._path = home.kept
        self._refused = Refused(home.refused)
        self._log = log
        self._descriptor = -1
        self._is_usable = True
        self.waiting = self._left()

    def keep(self, call: HookCall, reply: bytes) -> bool:
        """Write a call with the reply that it is about to get; return whether it may be given now."""
        if self.waiting is not None or not self._is_usable:
            return False
        answered = replace(call, answered=True, reply=reply)
        data = as_spooled(answered)
        if not self._is_written(data):
            self._empty()
            return False
        self.waiting = answered
        return True

    def forget(self) -> None:
        """Let go of the call: it is stored."""
        self.waiting = None
        self._empty()

    def refuse(self) -> None:
        """Set the call aside: it cannot be stored."""
        if self.waiting is not None:
            self._refused.keep(
                f"{self.waiting.time_ns}-kept-{self.waiting.delivery_id}", as_spooled(self.waiting)
            )
        self.forget()

    def close(self) -> None:
        """Let go of the file; what waits in it is for the next daemon."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _left(self) -> HookCall | None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._do_without(error)
            return None
        try:
            return spooled_call(data) if data else None
        except wire.WireError:
            # A call that was written in part was not answered: its hook client has spooled it.
            self._log.exception("kept call cannot be read")
        try:
            self._refused.keep(f"{time.time_ns()}-kept-unread", data)
        except OSError as error:
            self._do_without(error)
        else:
            self._empty()
        return None

    def _opened(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        return self._descriptor

    def _is_written(self, data: bytes) -> bool:
        try:
            return os.pwrite(self._opened(), data, 0) == len(data)
        except OSError as error:
            # The store is asked next: what is wrong with the disk, it will say.
            self._log.debug("call not kept", reason=type(error).__name__)
            return False

    def _empty(self) -> None:
        try:
            os.ftruncate(self._opened(), 0)
        except OSError as error:
            # The next daemon may find the call here: what is stored a second time is passed over.
            self._do_without(error)

    def _do_without(self, error: OSError) -> None:
        self._is_usable = False
        self._log.warning("calls are stored before they are answered", reason=type(error).__name__)
