"""Bringing views of another schema up to date: in one child process at a time, beside the old files."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.child import EXIT_BUSY, command_of, run_child

if TYPE_CHECKING:
    from collections.abc import Callable

    import structlog

    from tokeneconomizer.scheduler.home import Home

CHILD_COMMAND: tuple[str, ...] = command_of("scheduler.rebuild_views")

FAILURES_MAX = 3
"""What fails that often fails again; the next start of the daemon tries anew."""


class Rebuilding:
    """
    Rebuilds outdated views.

    Args:
        home: whose views.
        log: the daemon's log.
        after: called when a child has ended, so that the new files are folded on.

    """

    def __init__(
        self, home: Home, log: structlog.stdlib.BoundLogger, after: Callable[[], None] = lambda: None
    ) -> None:
        self._home = home
        self._log = log
        self._after = after
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    def start_if_due(self) -> None:
        """Start a child when views are outdated and none runs; called at the start and now and then."""
        if self._task is not None and not self._task.done():
            return
        if self._failures >= FAILURES_MAX:
            return
        names = self._outdated()
        if names:
            self._task = asyncio.get_running_loop().create_task(self._rebuild(names))

    async def close(self) -> None:
        """End the child, if one runs: what it did so far is thrown away by the next one."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _outdated(self) -> list[str]:
        names = []
        for projection in PROJECTIONS:
            try:
                with open_view(self._home.views, projection) as view:
                    if view.is_outdated:
                        names.append(projection.NAME)
            except TokeneconomizerError as error:
                self._log.warning("view not looked at", view=projection.NAME, reason=str(error))
        return names

    async def _rebuild(self, names: list[str]) -> None:
        self._log.info("views are rebuilt", views=names)
        try:
            status, said = await run_child((*CHILD_COMMAND, *names), self._home.root)
        except OSError as error:
            status, said = -1, str(error)
        if status == 0:
            self._log.info("views were rebuilt", views=names)
        elif status == EXIT_BUSY:
            self._log.info("views are rebuilt by another process", views=names)
        else:
            self._failures += 1
            self._log.error("views were not rebuilt", views=names, status=status, reason=said)
        self._after()
