"""Reading what is new in the agents' logs, now and then while agents are at work: in one child process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.child import EXIT_BUSY, command_of, run_child
from tokeneconomizer.scheduler.environment import PLACES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import structlog

    from tokeneconomizer.scheduler.home import Home

CHILD_COMMAND: tuple[str, ...] = command_of("scheduler.sweep_logs")

SWEEP_EVERY_S = 300
"""A start of Python and a look at the logs' dates: some 200 ms of an idle core, a thousandth of this."""


class Sweeping:
    """
    Sweeps the agents' logs.

    Args:
        home: whose store.
        log: the daemon's log.
        environments: what each agent's hook client handed over, by host.
        after: called when a child has ended, so that views take in what it stored.
        now: the wait for the first sweep begins here.

    """

    def __init__(
        self,
        home: Home,
        log: structlog.stdlib.BoundLogger,
        environments: Mapping[str, Mapping[str, str]],
        after: Callable[[], None],
        now: datetime,
    ) -> None:
        self._home = home
        self._log = log
        self._environments = environments
        self._after = after
        self.running: asyncio.Task[None] | None = None
        self._last = now

    def start_if_due(self, now: datetime, last_call: datetime) -> None:
        """Start a child when agents were heard since the last one, and that is long enough ago."""
        if self.running is not None and not self.running.done():
            return
        elapsed_s = (now - self._last).total_seconds()
        # After a clock was set back the wait is over at once, rather than hours long.
        if 0 <= elapsed_s < SWEEP_EVERY_S or last_call < self._last:
            return
        self._last = now
        self.running = asyncio.get_running_loop().create_task(self._sweep())

    async def close(self) -> None:
        """End the child, if one runs."""
        if self.running is not None:
            self.running.cancel()
            with suppress(asyncio.CancelledError):
                await self.running

    async def _sweep(self) -> None:
        try:
            status, said = await run_child(CHILD_COMMAND, self._home.root, self._places())
        except OSError as error:
            status, said = -1, str(error)
        if status not in {0, EXIT_BUSY}:
            self._log.error("logs were not swept", status=status, reason=said)
        self._after()

    def _places(self) -> dict[str, str]:
        return {
            name: value
            for environment in self._environments.values()
            for name, value in environment.items()
            if name in PLACES
        }
