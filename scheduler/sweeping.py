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

PRUNE_COMMAND: tuple[str, ...] = command_of("scheduler.prune_round")

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
        command: what the child runs, if not a sweep.

    """

    def __init__(
        self,
        home: Home,
        log: structlog.stdlib.BoundLogger,
        environments: Mapping[str, Mapping[str, str]],
        after: Callable[[], None],
        now: datetime,
        *,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self._home = home
        self._log = log
        self._environments = environments
        self._after = after
        self._command = command
        self.running: asyncio.Task[None] | None = None
        self._last = now

    def start_if_due(self, now: datetime, last_call: datetime, *, is_awaited: bool = False) -> None:
        """Start a child when agents were heard since the last one, or it is awaited, and that is long ago."""
        if self.running is not None and not self.running.done():
            return
        elapsed_s = (now - self._last).total_seconds()
        # After a clock was set back the wait is over at once, rather than hours long.
        if 0 <= elapsed_s < SWEEP_EVERY_S or (last_call < self._last and not is_awaited):
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
            status, said = await run_child(self._command or CHILD_COMMAND, self._home.root, self._places())
        except OSError as error:
            status, said = -1, str(error)
        if status not in {0, EXIT_BUSY}:
            what = "deny lists were not looked after" if self._command else "logs were not swept"
            self._log.error(what, status=status, reason=said)
        self._after()

    def _places(self) -> dict[str, str]:
        return {
            name: value
            for environment in self._environments.values()
            for name, value in environment.items()
            if name in PLACES
        }
