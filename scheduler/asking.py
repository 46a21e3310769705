"""What the judge and the proposer share: asking one after the other, and telling what goes wrong."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.domain.setup import SideCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from datetime import datetime

    import structlog

    from tokeneconomizer.hosts.side_call import Answer, Question
    from tokeneconomizer.scheduler.application import Application
    from tokeneconomizer.scheduler.side_calls import SideCalls


class Asking:
    """
    Asks a model for one purpose, beside the hooks; a failure changes nothing for the agent.

    Args:
        application: stores what comes of it.
        side_calls: how the model is asked.
        log: the daemon's log.
        now: the clock.
        after: called when something was stored.

    Attributes:
        running: the task that asks, if one was begun.
        problem: why nobody could be asked or gave no answer the last time, or empty.

    """

    WHO: ClassVar[str]
    """Who is asked, in words."""

    PURPOSE: ClassVar[str]
    """The purpose of its side calls, as events have it."""

    def __init__(
        self,
        application: Application,
        side_calls: SideCalls,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        after: Callable[[], None],
    ) -> None:
        self._application = application
        self._side_calls = side_calls
        self._log = log
        self._now = now
        self._after = after
        self.running: asyncio.Task[None] | None = None
        self.problem = ""

    async def close(self) -> None:
        """End the call that runs, if one does."""
        if self.running is not None:
            self.running.cancel()
            with suppress(asyncio.CancelledError):
                await self.running

    def _is_busy(self) -> bool:
        return self.running is not None and not self.running.done()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        self.running = asyncio.get_running_loop().create_task(work)

    async def _unharmed(self, work: Awaitable[None]) -> None:
        """Do the work, and tell what goes wrong with it."""
        try:
            await work
        except SideCallFailed as error:
            self._tell(str(error))
        except Exception as error:  # noqa: BLE001 - an extra: nothing else may end by it
            self._log.exception(f"{self.WHO} failed")
            self._tell(f"the {self.WHO} failed ({type(error).__name__}): the daemon's log tells more")

    def _asked_today(self, host: str) -> int:
        now = self._now()
        with self._application.setup(host, now) as setup:
            return setup.side_calls_on(now, self.PURPOSE)

    def _store_cost(self, host: str, side_call_id: str, question: Question, answer: Answer | None) -> None:
        """Store that somebody was asked: it may have cost something whatever came of it."""
        made = SideCall(
            side_call_id,
            self.PURPOSE,
            model="" if answer is None else answer.model,
            sent_characters=len(question.instructions) + len(question.text),
            cost_usd=None if answer is None else answer.cost_usd,
        )
        self._application.side_call_made(host, made, self._now())
        self._after()

    def _tell(self, problem: str) -> None:
        self.problem = problem
        self._log.warning(f"{self.WHO} not heard", reason=problem)
