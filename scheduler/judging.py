"""
The judge: asked about turns that passed the gate, one after the other, and never in the way of a hook.

Whatever goes wrong changes nothing for the agent; it is told in the log, and by `te status`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from tokeneconomizer.domain.guard.judge import INSTRUCTIONS, PURPOSE, verdict_from
from tokeneconomizer.domain.judging import ask, case_of, give_verdict
from tokeneconomizer.hosts.side_call import Question
from tokeneconomizer.scheduler.asking import Asking

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


class Judging(Asking):
    """
    Asks the judge about turns that passed the gate; see `Asking`.

    Args:
        configuration: gives the configuration in force.

    """

    WHO: ClassVar[str] = "judge"
    PURPOSE: ClassVar[str] = PURPOSE

    def __init__(
        self,
        application: Application,
        configuration: Callable[[], Configuration],
        side_calls: SideCalls,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        after: Callable[[], None],
    ) -> None:
        super().__init__(application, side_calls, log, now, after)
        self._configuration = configuration
        self._waiting: deque[UUID] = deque(maxlen=WAITING_MAX)

    def start_if_due(self) -> None:
        """Ask about the turns that passed the gate; called after each hook call, and returns at once."""
        gated = self._application.taken_gated()
        if not gated:
            return
        self._waiting.extend(gated)
        if not self._is_busy():
            self._begin(self._ask_all())

    async def _ask_all(self) -> None:
        while self._waiting:
            await self._unharmed(self._ask_about(self._waiting.popleft()))

    async def _ask_about(self, stream_id: UUID) -> None:
        with self._application.session(stream_id) as session:
            case = None if session is None else case_of(session)
        if case is None or not self._may_ask(case):
            return
        question = Question(INSTRUCTIONS, case.digest)
        call = self._side_calls.ready(case.host, question)
        side_call_id = uuid4().hex
        with self._application.session(stream_id) as session:
            if session is not None:
                ask(session, case, side_call_id, self._now())
        answer: Answer | None = None
        try:
            answer = await self._side_calls.ask(case.host, call)
        finally:
            self._store_cost(case.host, side_call_id, question, answer)
        self._store_verdict(stream_id, case, side_call_id, answer)

    def _may_ask(self, case: Case) -> bool:
        configuration = self._configuration()

        def value(key: str) -> object:
            return configuration.get(key, host=case.host, repository=case.repository)

        if value("judge") != "auto" or case.asked_before >= int(str(value("guard.judge_calls_per_session"))):
            return False
        return self._asked_today(case.host) < int(str(value("guard.judge_calls_per_day")))

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
