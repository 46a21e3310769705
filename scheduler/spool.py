"""
The spool: hook calls that found no daemon, or one that was too slow, stored in the order of their time.

A file is removed only after its events are saved. A file that cannot be read or handled is moved aside, for
`te doctor` and for the next version; a store that fails leaves the rest for later.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler.hook_calls import HookCall
from tokeneconomizer.scheduler.refused import Refused, order_of
from tokeneconomizer.scheduler.store_trouble import StoreFailing, is_of_store

if TYPE_CHECKING:
    from pathlib import Path

    import structlog

    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.scheduler.hook_calls import HookCalls

UNFINISHED_SUFFIX = ".tmp"

UNFINISHED_S_MAX = 60
"""The hook client gives up after a quarter of a second: an older file was left by one that was killed."""

UNSEEN_CHANGE_NS_MAX = 2_500_000_000
"""File systems note times in steps of up to two seconds: within one a file may come and the time stay."""


class Spool:
    """
    The folder of spooled calls.

    Args:
        home: whose spool it is.
        log: the daemon's log.

    """

    def __init__(self, home: Home, log: structlog.stdlib.BoundLogger) -> None:
        self._folder = home.spool
        self._refused = Refused(home.refused)
        self._log = log
        self._is_tidy = False
        self._changed_ns_when_empty: int | None = None

    def try_refused_again(self, version: str) -> None:
        """Have what an earlier version of the program could not store wait once more."""
        try:
            self._refused.give_back(version, self._folder)
        except OSError:
            self._log.exception("refused calls cannot be tried again")

    def waiting(self) -> list[Path]:
        """Return the complete files, oldest first."""
        try:
            with os.scandir(self._folder) as entries:
                names = [
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []
        return [self._folder / name for name in sorted(names, key=order_of)]

    def drain(self, calls: HookCalls, *, by_names: bool = False) -> int:
        """
        Store what waits; return how many calls were stored.

        Args:
            calls: stores them.
            by_names: read the names also where the folder's time says that it is empty still, which not every
                file system keeps.

        Raises:
            Exception: whatever a failing store raises; what is left stays in the spool.

        """
        # Asked before each live call: one look at the folder's time costs a fifth of reading its names.
        changed_ns = self._changed_ns()
        if changed_ns is not None and changed_ns == self._changed_ns_when_empty and not by_names:
            return 0
        self._tidy_once()
        waiting = self.waiting()
        if not waiting and changed_ns is not None and time.time_ns() - changed_ns > UNSEEN_CHANGE_NS_MAX:
            self._changed_ns_when_empty = changed_ns
        stored = 0
        for path in waiting:
            call = self._call_in(path)
            if call is None:
                continue
            if is_stored("spooled call refused", call, calls, self._log.bind(file=path.name)):
                path.unlink(missing_ok=True)
                stored += 1
            else:
                self._refused.take(path)
        if stored:
            self._log.info("spool drained", calls=stored)
        return stored

    def _changed_ns(self) -> int | None:
        try:
            return os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - half the time of pathlib's
        except FileNotFoundError:
            return None

    def _tidy_once(self) -> None:
        """Remove what killed hook clients left unfinished; nothing of it was answered."""
        if self._is_tidy:
            return
        self._is_tidy = True
        for path in self._folder.glob(f".*{UNFINISHED_SUFFIX}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > UNFINISHED_S_MAX:
                    path.unlink()

    def _call_in(self, path: Path) -> HookCall | None:
        try:
            return spooled_call(path.read_bytes())
        except (OSError, wire.WireError):
            self._log.exception("spooled call cannot be read", file=path.name)
            self._refused.take(path)
            return None


def is_stored(refusal: str, call: HookCall, calls: HookCalls, log: structlog.stdlib.BoundLogger) -> bool:
    """
    Store an answered call; return False, told in the log, where the call is to blame.

    Args:
        refusal: what the log says then.
        call: has its reply.
        calls: stores it.
        log: the daemon's log.

    Raises:
        Exception: whatever a failing store raises: the call waits on.

    """
    try:
        calls.answer(call)
    except Exception as error:
        if isinstance(error, StoreFailing | OSError) or is_of_store(error):
            raise
        # One payload, or one stream, must not keep the others from being stored.
        log.exception(refusal)
        return False
    return True


def spooled_call(data: bytes) -> HookCall:
    """
    Return the answered call that a file of the spool holds.

    Raises:
        WireError: it holds none, or not the whole.

    """
    spooled = wire.parse_spooled(data)
    return HookCall(
        host=flag(spooled.host),
        event=flag(spooled.event),
        via=flag(spooled.via),
        time_ns=spooled.time_ns,
        delivery_id=spooled.delivery_id,
        payload=spooled.payload,
        answered=True,
        reply=spooled.reply,
    )


def as_spooled(call: HookCall) -> bytes:
    """Return an answered call as a file of the spool."""
    return wire.encode_spooled(
        wire.Spooled(
            host=call.host or wire.ABSENT,
            event=call.event or wire.ABSENT,
            via=call.via or wire.ABSENT,
            time_ns=call.time_ns,
            delivery_id=call.delivery_id,
            reply=call.reply,
            payload=call.payload,
        )
    )


def flag(value: str) -> str:
    """Return a flag of the wire; empty when absent."""
    return "" if value == wire.ABSENT else value
