"""
A small simulator: real files and the real parts of the daemon, a clock of the test's, and faults.

Whoever drives it performs actions; after each of them everything must hold that `History` and `_check` know.
A kill is a copy of the files as they are at that moment: what the dead process still does is not in it.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self
from unittest.mock import patch
from uuid import UUID

from history import History
from simulated_agents import Agents, Sent
from simulated_daemon import Daemon, Disk, Killed
from simulated_faults import OF_THE_DISK, Counts, befalling, readonly_spool
from simulated_promises import Promises, check_order, check_sessions, check_views
from watched_sqlite import watched_by

from tokeneconomizer.domain.errors import DaemonRunning
from tokeneconomizer.hosts.hook import hook_cold, te_hook_core
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.switch import rebuild
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import application, recorders
from tokeneconomizer.scheduler.due import SILENCE_BEFORE_ARCHIVE
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.hook_calls import HookCall
from tokeneconomizer.scheduler.store_trouble import StoreFailing

if TYPE_CHECKING:
    from types import TracebackType

    from tokeneconomizer.scheduler.hook_calls import HookReply

_MEMORY = "/dev/shm"  # noqa: S108 - folders in it are made by tempfile

MEMORY_FOLDER = _MEMORY if os.access(_MEMORY, os.W_OK) else None
"""A kill is no power cut, so that a disk would show nothing more and only take its time."""

START = datetime(2026, 1, 5, 9, tzinfo=UTC)

SNAPSHOT_EVERY_EVENTS = 20
"""Far more often than in earnest, so that sessions are restored from them."""


class Simulation:
    """One home, from its first daemon on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lives = 0
        self.home = Home(folder / "home-0")
        self.home.create()
        self.now = START
        self.elapsed_s = 0.0
        self.agents = Agents()
        self.disk = Disk(kill=self._copy_as_killed)
        self.daemon: Daemon | None = None
        self.history = History(self.home.events, self.home.key())
        self.counts = Counts()
        self._deliveries = 0
        self.promises = Promises(self.history)
        self._unconfirmed: list[HookReply] = []
        self._restore = ExitStack()

    def __enter__(self) -> Self:
        self._restore.enter_context(watched_by(self.disk))
        self._restore.enter_context(patch.object(recorders, "LOCK_TIMEOUT_S", 0.001))
        self._restore.enter_context(patch.object(application, "SNAPSHOT_EVERY_EVENTS", SNAPSHOT_EVERY_EVENTS))
        self._restore.enter_context(patch.object(os, "fsync", lambda _: None))
        # The hook client enters the home.
        self._restore.callback(os.chdir, Path.cwd())
        self.boot()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.daemon is not None:
            self.daemon.close()
        self._restore.close()

    # Actions: what agents, people and machines do.

    def perform(self, name: str, *arguments: object) -> None:
        """Do one of the actions below."""
        self.counts.actions += 1
        getattr(self, name)(*arguments)

    def act(self, session: int, agent: int, thing: str, deliveries: tuple[str, ...], seconds: float) -> None:
        """An agent does something; each of its hook calls is delivered in its own way."""
        calls = list(self.agents.send(session, agent, thing))
        for sent, delivery in zip(calls, deliveries[-len(calls) :], strict=True):
            self._pass(seconds)
            fired = self.disk.fired
            self._deliver(sent, delivery)
            if delivery in OF_THE_DISK:
                self.counts.faults += self.disk.fired - fired
            else:
                self._fault(delivery != "plain")
            self._check()

    def boot(self) -> None:
        """A hook or a person starts a daemon."""
        if self.daemon is not None:
            return
        self.daemon = Daemon(self.home, lambda: self.now, lambda: self.elapsed_s)
        self._drain_by_timer(self.daemon)
        self._check()

    def boot_second(self) -> None:
        """Somebody starts one more."""
        self._fault()
        if self.daemon is None:
            self.boot()
        try:
            Daemon(self.home, lambda: self.now).close()
        except DaemonRunning:
            return
        message = "two daemons in one home"
        raise AssertionError(message)

    def stop(self) -> None:
        """The daemon is told to stop."""
        if self.daemon is not None:
            self.daemon.close()
            self.daemon = None
            self._unconfirmed.clear()
        self._check()

    def kill(self) -> None:
        """The daemon is killed while it waits."""
        self._fault()
        if self.daemon is not None:
            self._copy_as_killed()
            self._bury()
        self._check()

    def tick(self) -> None:
        """The daemon's timer comes round."""
        if self.daemon is not None:
            self._drain_by_timer(self.daemon)
            self._archive_silent(self.daemon)
        self._check()

    def confirmations_time_out(self) -> None:
        """The daemon has waited long enough for hook clients that did not confirm."""
        waiting, self._unconfirmed = self._unconfirmed, []
        for reply in waiting:
            if self.daemon is not None:
                self.daemon.calls.not_delivered(reply, "the hook client did not confirm")
        self._check()

    def fold(self, batch: int, batches: int) -> None:
        """The views take some of what is new."""
        if self.daemon is not None:
            self.daemon.fold(batch, batches)

    def fold_and_die(self, moment: str) -> None:
        """The daemon is killed while the views take what is new."""
        self._fault()
        if self.daemon is None:
            return
        self.disk.kills_at = moment
        try:
            self.daemon.fold(7, 3)
        except Killed:
            self._bury()
        self.disk.heal()
        self._check()

    def rebuild(self) -> None:
        """Somebody rebuilds the views."""
        if self.daemon is not None:
            for projection in PROJECTIONS:
                rebuild(self.daemon.events, self.home.views, projection)

    def wait(self, seconds: float) -> None:
        """Time passes, or somebody sets the clock."""
        self._fault(seconds < 0)
        self._pass(seconds)

    def replace_session(self, session: int) -> None:
        """An agent begins another session."""
        self.agents.replace(session)

    # How a hook call fares.

    def _deliver(self, sent: Sent, delivery: str) -> None:
        delivery_id = self._new_delivery()
        with befalling(self.disk, self.home, delivery, self._deliveries):
            if delivery == "not_even_spooled":
                self._spool(sent, delivery_id, is_readonly=True)
                return
            if delivery == "only_spooled":
                self._spool(sent, delivery_id)
                return
            reply = self._answer(sent, delivery_id, dies_once_answered=delivery == "killed_once_answered")
        if delivery == "killed_before_reply" and reply is not None:
            self._copy_as_killed()
            self._bury()
            reply = None
        if reply is None or delivery == "timed_out":
            self._spool(sent, delivery_id)
        elif delivery != "reply_lost":
            self._acknowledge(sent, delivery_id)
        if reply is not None and reply.said and delivery in {"reply_lost", "unconfirmed", "timed_out"}:
            self._unconfirmed.append(reply)
        if delivery == "delivered_twice":
            self._answer(sent, delivery_id)
        if delivery == "through_two_registrations":
            self._pass(self._deliveries % 20 / 10)
            self._deliver(sent, "plain" if self._deliveries % 3 else "only_spooled")

    def _answer(self, sent: Sent, delivery_id: str, *, dies_once_answered: bool = False) -> HookReply | None:
        """What the daemon's server does for one request: None where the client gets no answer."""
        daemon = self.daemon
        if daemon is None:
            return None
        call = HookCall("claude_code", sent.event, "plugin", self._time_ns, delivery_id, sent.payload)
        reply = None
        try:
            self._drain(daemon)
            reply = daemon.live.answer(call)
            if dies_once_answered:
                self._copy_as_killed()
                raise Killed  # noqa: TRY301 - as the disk would do it
            daemon.live.finish()
        except Killed:
            self._bury()
        except Exception as error:  # noqa: BLE001 - the server logs it, and the client gets no more
            self._only_as_told(error)
        return reply

    def _only_as_told(self, error: Exception) -> None:
        words = str(error)
        assert "disk is full" in words or "locked" in words, f"the daemon failed by itself: {error!r}"

    def _drain_by_timer(self, daemon: Daemon) -> None:
        try:
            self._drain(daemon)
        except StoreFailing:
            return

    def _drain(self, daemon: Daemon) -> None:
        waiting = [path.name for path in daemon.spool.waiting()]
        self._check()
        try:
            daemon.live.drain()
        finally:
            if self.daemon is daemon:
                check_order(waiting, self.history.take())

    def _spool(self, sent: Sent, delivery_id: str, *, is_readonly: bool = False) -> None:
        """What the hook client does when it got no answer."""
        call = te_hook_core.Call(["--host", "claude_code", "--event", sent.event, "--via", "plugin"])
        call.home = os.fsencode(self.home.root)
        call.time_ns, call.delivery_id, call.chunks = self._time_ns, delivery_id, [sent.payload]
        with readonly_spool() if is_readonly else ExitStack():
            hook_cold.keep(call, ConnectionRefusedError())
        if not is_readonly:
            self._acknowledge(sent, delivery_id)
            self.promises.answered_by_client(sent, delivery_id)

    def _acknowledge(self, sent: Sent, delivery_id: str) -> None:
        self.counts.acknowledged += 1
        self.promises.acknowledge(sent, delivery_id, self.now)

    def _archive_silent(self, daemon: Daemon) -> None:
        view = daemon.view(counters.NAME)
        if view.position() < daemon.events.last_position():
            daemon.fold(1_000, 1_000)
        since = self.now - SILENCE_BEFORE_ARCHIVE
        for stream in counters.silent_since(view.connection(), since.isoformat()):
            daemon.application.archive_silent(UUID(stream), since, self.now)

    # Ends.

    def _copy_as_killed(self) -> None:
        self._lives += 1
        root = self._folder / f"home-{self._lives}"
        shutil.copytree(self.home.root, root, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
        self._survivor = Home(root)

    def _bury(self) -> None:
        dead, self.daemon = self.daemon, None
        if dead is not None:
            dead.close()
            shutil.rmtree(dead.home.root)
        self.home = self._survivor
        self.history.path = self.home.events
        self._unconfirmed.clear()

    # What must hold.

    def _check(self) -> None:
        self.counts.events = self.history.position
        self.promises.check(self.home, self._unconfirmed)

    def finish(self) -> None:
        """What must hold in the end: all is stored, and what was folded in pieces equals a rebuild."""
        self.disk.heal()
        self._pass(60)
        self.boot()
        self.tick()
        self.confirmations_time_out()
        assert not self.promises.owed, "acknowledged and not stored after all"
        assert self.daemon is not None
        check_views(self.daemon)
        check_sessions(self.daemon, self.history)

    def _fault(self, happens: bool = True) -> None:  # noqa: FBT002 - a yes or no of one's own
        self.counts.faults += happens

    def _pass(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.elapsed_s += max(0.0, seconds)

    def _new_delivery(self) -> str:
        self.counts.calls += 1
        self._deliveries += 1
        return f"{self._deliveries:032x}"

    @property
    def _time_ns(self) -> int:
        return round(self.now.timestamp() * 1_000_000) * 1_000
