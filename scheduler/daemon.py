"""
The daemon: boots, serves, stops; read `serve` as the list of what happens in which order.

Started by the hook client or by `te daemon start` as `python -I -m tokeneconomizer.scheduler.daemon`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING
from uuid import UUID

from tokeneconomizer.scheduler.environment import shield

shield()

from tokeneconomizer.domain.errors import DaemonRunning, TokeneconomizerError  # noqa: E402 - after shield
from tokeneconomizer.projections import microskills  # noqa: E402
from tokeneconomizer.projections.event_log import EventLog  # noqa: E402
from tokeneconomizer.scheduler import control  # noqa: E402
from tokeneconomizer.scheduler.building import build  # noqa: E402
from tokeneconomizer.scheduler.due import may_end, read_clocks, seconds_between, silent_before  # noqa: E402
from tokeneconomizer.scheduler.fact_blocks import FactBlocks  # noqa: E402
from tokeneconomizer.scheduler.folding import Folding  # noqa: E402
from tokeneconomizer.scheduler.home import Home  # noqa: E402
from tokeneconomizer.scheduler.judging import Judging  # noqa: E402
from tokeneconomizer.scheduler.kept_call import KeptCall  # noqa: E402
from tokeneconomizer.scheduler.live_calls import LiveCalls  # noqa: E402
from tokeneconomizer.scheduler.lock import ATTEMPTS, held  # noqa: E402
from tokeneconomizer.scheduler.log import open_log  # noqa: E402
from tokeneconomizer.scheduler.proposing import IDLE_S, Proposing  # noqa: E402
from tokeneconomizer.scheduler.rebuilding import Rebuilding  # noqa: E402
from tokeneconomizer.scheduler.server import Server, Speaker  # noqa: E402
from tokeneconomizer.scheduler.side_calls import SideCalls  # noqa: E402
from tokeneconomizer.scheduler.spool import Spool  # noqa: E402
from tokeneconomizer.scheduler.store_trouble import (  # noqa: E402
    StoreFailing,
    StoreTrouble,
    WatchedCalls,
    is_of_store,
)
from tokeneconomizer.scheduler.sweeping import PRUNE_COMMAND, Sweeping  # noqa: E402
from tokeneconomizer.scheduler.timers import start_timer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import structlog

    from tokeneconomizer.scheduler.building import Parts

TICK_S = 30
"""Nothing that a timer does is needed sooner."""

TICK_AFTER_START_S = 2
"""By then the views know what the spool told; what waits for them need not wait for a whole tick."""

RENDERING_S_MAX = 0.02
"""After an import many repositories are due: each takes milliseconds, and hooks wait meanwhile."""

STAY_FLAG = "--stay"
"""Given by a service manager, which would take the daemon's own end for a failure."""

ARCHIVED_PER_TICK = 50
"""Each is a save of a millisecond; hooks that come meanwhile wait no longer than for one large payload."""

DISTRIBUTION = "tokeneconomizer"


@dataclass(frozen=True, slots=True)
class Work:
    """What the daemon works with while it serves."""

    parts: Parts
    calls: LiveCalls
    folding: Folding
    trouble: StoreTrouble
    rebuilding: Rebuilding
    sweeping: Sweeping
    judging: Judging
    proposing: Proposing
    events: EventLog
    facts: FactBlocks
    pruning: Sweeping


class Daemon:
    """
    One home's daemon, between taking the lock and letting go.

    Args:
        home: the home, which is the working folder.
        log: the log.
        stays: whether it goes on when nobody calls, because a service manager started it.

    """

    def __init__(self, home: Home, log: structlog.stdlib.BoundLogger, *, stays: bool = False) -> None:
        self._home = home
        self._log = log
        self._stays = stays
        self._version = version(DISTRIBUTION)
        self._started = datetime.now(UTC)
        self._last_call = read_clocks()
        self._stop = asyncio.Event()
        self._environments: dict[str, Mapping[str, str]] = {}

    async def serve(self) -> None:
        """Boot, serve until told to stop, and stop in order."""
        self._listen_for_signals()
        parts = build(self._home, self._log, self._environments)
        trouble = StoreTrouble(self._home, self._log, self._stop.set)
        kept, spool = KeptCall(self._home, self._log), Spool(self._home, self._log)
        spool.try_refused_again(self._version)
        folding = Folding(self._home, self._log, trouble.met, parts.envelopes)
        work = Work(
            parts=parts,
            calls=LiveCalls(
                WatchedCalls(parts.application, self._log, lambda: datetime.now(UTC), trouble),
                spool,
                kept,
                self._log,
            ),
            folding=folding,
            trouble=trouble,
            rebuilding=Rebuilding(self._home, self._log, folding.soon),
            facts=FactBlocks(self._home, parts.application, parts.facts),
            judging=Judging(
                parts.application,
                parts.configuration,
                SideCalls(self._environments),
                self._log,
                lambda: datetime.now(UTC),
                folding.soon,
            ),
            proposing=Proposing(
                parts.application,
                parts.facts,
                SideCalls(self._environments),
                self._log,
                lambda: datetime.now(UTC),
                folding.soon,
            ),
            events=EventLog(self._home.events),
            sweeping=self._child(folding.soon),
            pruning=self._child(folding.soon, PRUNE_COMMAND),
        )
        self._tick(work)
        # What was imported lives as long as the process: a collection that looks at it takes 13 ms.
        gc.collect()
        gc.freeze()
        server = await Server(self._speaker(work), self._log).listen()
        timers = start_timer(TICK_S, lambda: self._tick(work), first_s=TICK_AFTER_START_S)
        work.folding.soon()
        self._log.info("daemon listens", version=self._version, pid=os.getpid())
        await self._stop.wait()
        server.close()
        await server.wait_closed()
        timers.shutdown(wait=False)
        await work.rebuilding.close()
        await work.sweeping.close()
        await work.judging.close()
        await work.proposing.close()
        await work.pruning.close()
        work.folding.close()
        work.events.close()
        kept.close()
        parts.store.close()
        self._home.socket.unlink(missing_ok=True)
        self._log.info("daemon stopped")

    def _child(self, after: Callable[[], None], command: tuple[str, ...] | None = None) -> Sweeping:
        began = self._last_call.wall
        return Sweeping(self._home, self._log, self._environments, after, began, command=command)

    def _speaker(self, work: Work) -> Speaker:
        def after() -> None:
            self._last_call = read_clocks()
            work.folding.soon()
            work.judging.start_if_due()

        return Speaker(
            version=self._version,
            calls=work.calls,
            control=lambda kind, payload: self._control(work, kind, payload),
            keep_environment=self._environments.__setitem__,
            after=after,
        )

    def _tick(self, work: Work) -> None:
        """Do what is due now and then; each part may fail without keeping the others."""
        if not self._home.lock.exists():
            # The home was removed: nobody can reach this daemon any more.
            self._stop.set()
            return
        due: tuple[tuple[str, Callable[[], object]], ...] = (
            ("spool", lambda: work.calls.drain(by_names=True)),
            ("policies", lambda: control.store_policies(work.parts, datetime.now(UTC))),
            ("sessions", lambda: self._archive_or_end(work)),
            ("facts", lambda: self._render_facts(work)),
            ("views", work.rebuilding.start_if_due),
            ("deny lists", lambda: self._prune(work)),
            ("logs", lambda: work.sweeping.start_if_due(datetime.now(UTC), self._last_call.wall)),
        )
        for name, part in due:
            try:
                part()
            except StoreFailing:
                continue
            except Exception as error:  # noqa: BLE001 - the next tick tries again, and the log tells
                if is_of_store(error):
                    work.trouble.met(error)
                else:
                    self._log.exception("timer failed", timer=name)

    def _render_facts(self, work: Work) -> None:
        with work.folding.asked(microskills) as connection:
            if connection is None:
                return
            end = time.monotonic() + RENDERING_S_MAX
            if work.facts.keep_up(connection, datetime.now(UTC), lambda: time.monotonic() < end):
                work.folding.soon()
            if seconds_between(self._last_call, read_clocks()) >= IDLE_S:
                work.proposing.start_if_due(connection, work.events)

    def _prune(self, work: Work) -> None:
        answers = work.folding.answers()
        is_awaited = answers is not None and answers.lists_pending
        work.pruning.start_if_due(datetime.now(UTC), self._last_call.wall, is_awaited=is_awaited)

    def _archive_or_end(self, work: Work) -> None:
        answers = work.folding.answers()
        if answers is None:
            work.folding.soon()
            return
        now = read_clocks()
        silent_since = silent_before(now)
        for stream_id in answers.silent_since(silent_since.isoformat())[:ARCHIVED_PER_TICK]:
            work.parts.application.archive_silent(UUID(stream_id), silent_since, now.wall)
            work.folding.soon()
        nothing_expected = answers.all_archived and not answers.lists_pending
        is_idle = may_end(self._last_call, now, all_archived=nothing_expected)
        if is_idle and not self._stays and not work.calls.waiting():
            self._log.info("daemon ends: nobody called, and nothing is expected")
            self._stop.set()

    def _control(self, work: Work, kind: str, payload: bytes) -> bytes:
        if kind == "stop":
            self._stop.set()
            return json.dumps({"stopping": True}).encode()
        if kind == "command":
            try:
                return json.dumps(control.execute(work.parts, json.loads(payload))).encode()
            except TokeneconomizerError as error:
                return json.dumps({"error": str(error)}).encode()
        status = {
            "pid": os.getpid(),
            "version": self._version,
            "started_at": self._started.isoformat(),
            "spooled": work.calls.waiting(),
            "store_problem": work.trouble.problem,
            "configuration_problem": work.parts.configuration.problem,
            "judge_problem": work.judging.problem,
            "proposer_problem": work.proposing.problem,
            "agents_heard": sorted(self._environments),
        }
        return json.dumps(status).encode()

    def _listen_for_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)


def run(home: Home, *, stays: bool = False) -> None:
    """
    Serve a home until told to stop, or, unless it stays, until nobody calls.

    Raises:
        DaemonRunning: another process serves it.

    """
    os.umask(0o077)
    home.create()
    os.chdir(home.root)
    # One that stays waits for its turn: a service manager would only start it again.
    with held(home.lock, attempts=None if stays else ATTEMPTS):
        log = open_log(home.log)

        async def serve() -> None:
            await Daemon(home, log, stays=stays).serve()

        try:
            asyncio.run(serve())
        except TokeneconomizerError as error:
            log.error("daemon failed", reason=str(error))  # noqa: TRY400 - the words tell all
            raise
        except Exception:
            log.exception("daemon failed")
            raise


def main() -> None:
    """Serve the home that the environment names; leave quietly when it is served already."""
    try:
        run(Home.from_environment(), stays=STAY_FLAG in sys.argv[1:])
    except DaemonRunning:
        sys.exit(0)


if __name__ == "__main__":
    main()
