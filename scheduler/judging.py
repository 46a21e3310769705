"""
The judge: asked about turns that passed the gate, one after the other, and never in the way of a hook.

Whatever goes wrong changes nothing for the agent; it is told in the log, and by `te status`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.domain.guard.judge import INSTRUCTIONS, PURPOSE, verdict_from
from tokeneconomizer.domain.judging import ask, case_of, give_verdict
from tokeneconomizer.domain.setup import SideCall
from tokeneconomizer.hosts.side_call import Question

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    import structlog

    from tokeneconomizer.domain.judging import Case
    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.hosts.side_call import Answer
    from tokeneconomizer.scheduler.application import Application
    from tokeneconomizer.scheduler.side_calls import SideCalls

WAITING_MAX = 4
"""A verdict has to come while its turn is open: who waits behind more than this is asked about no more."""


class Judging:
    """
    Asks the judge.

    Args:
        application: says which turns passed the gate, and stores what comes of it.
        configuration: gives the configuration in force.
        side_calls: how the judge is asked.
        log: the daemon's log.
        now: the clock.
        after: called when something was stored.

    Attributes:
        problem: why the judge could not be asked or gave no answer the last time, or empty.

    """

    def __init__(
        self,
        application: Application,
        configuration: Callable[[], Configuration],
        side_calls: SideCalls,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        after: Callable[[], None],
    ) -> None:
        self._application = application
        self._configuration = configuration
        self._side_calls = side_calls
        self._log = log
        self._now = now
        self._after = after
        self._waiting: deque[UUID] = deque(maxlen=WAITING_MAX)
        self.running: asyncio.Task[None] | None = None
        self.problem = ""

    def start_if_due(self) -> None:
        """Ask about the turns that passed the gate; called after each hook call, and returns at once."""
        gated = self._application.taken_gated()
        if not gated:
            return
        self._waiting.extend(gated)
        if self.running is None or self.running.done():
            self.running = asyncio.get_running_loop().create_task(self._ask_all())

    async def close(self) -> None:
        """End the call that runs, if one does."""
        if self.running is not None:
            self.running.cancel()
            with suppress(asyncio.CancelledError):
                await self.running

    async def _ask_all(self) -> None:
        while self._waiting:
            stream_id = self._waiting.popleft()
            try:
                await self._ask_about(stream_id)
            except SideCallFailed as error:
                self._tell(str(error))
            except Exception as error:  # noqa: BLE001 - the judge is an extra: nothing else may end by it
                self._log.exception("judge failed")
                self._tell(f"the judge failed ({type(error).__name__}): the daemon's log tells more")

    async def _ask_about(self, stream_id: UUID) -> None:
        with self._application.session(stream_id) as session:
            case = None if session is None else case_of(session)
        if case is None or not self._may_ask(case):
            return
        call = self._side_calls.ready(case.host, Question(INSTRUCTIONS, case.digest))
        side_call_id = uuid4().hex
        with self._application.session(stream_id) as session:
            if session is not None:
                ask(session, case, side_call_id, self._now())
        answer: Answer | None = None
        try:
            answer = await self._side_calls.ask(case.host, call)
        finally:
            # It may have cost something whatever came of it.
            self._store_cost(case, side_call_id, answer)
            self._after()
        self._store_verdict(stream_id, case, side_call_id, answer)

    def _may_ask(self, case: Case) -> bool:
        configuration, now = self._configuration(), self._now()

        def value(key: str) -> object:
            return configuration.get(key, host=case.host, repository=case.repository)

        if value("judge") != "auto" or case.asked_before >= int(str(value("guard.judge_calls_per_session"))):
            return False
        with self._application.setup(case.host, now) as setup:
            asked_today = setup.side_calls_on(now, PURPOSE)
        return asked_today < int(str(value("guard.judge_calls_per_day")))

    def _store_cost(self, case: Case, side_call_id: str, answer: Answer | None) -> None:
        call = SideCall(
            side_call_id,
            PURPOSE,
            model="" if answer is None else answer.model,
            sent_characters=len(INSTRUCTIONS) + len(case.digest),
            cost_usd=None if answer is None else answer.cost_usd,
        )
        self._application.side_call_made(case.host, call, self._now())

    def _store_verdict(self, stream_id: UUID, case: Case, side_call_id: str, answer: Answer) -> None:
        verdict = verdict_from(answer.text)
        if verdict is None:
            self._tell("the judge gave no verdict: its answer was not the object that it was asked for")
            return
        self.problem = ""
        with self._application.session(stream_id) as session:
            if session is not None:
                give_verdict(session, case, side_call_id, verdict, answer.model, self._now())
        self._log.info("judge answered", verdict=verdict.verdict, confidence=verdict.confidence)
        self._after()

    def _tell(self, problem: str) -> None:
        self.problem = problem
        self._log.warning("judge not heard", reason=problem)
