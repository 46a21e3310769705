"""
The proposer: asked once about each archived session where `microskills` is `full`, while no hook calls.

What it says is checked against what the session ran, and counts from a second session on. Whatever goes wrong
changes nothing for the agent; it is told in the log, and by `te status`.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.facts.proposer import (
    INSTRUCTIONS,
    PURPOSE,
    Returned,
    borne_out,
    digest_of,
    proposals_from,
)
from tokeneconomizer.domain.facts.watching import Watched, stays_in_folder
from tokeneconomizer.hosts.side_call import Question
from tokeneconomizer.projections import microskill_queries as queries
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.asking import Asking

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from datetime import datetime

    import structlog

    from tokeneconomizer.hosts.side_call import Answer
    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.event_rows import LogEntry
    from tokeneconomizer.projections.microskill_queries import Archived
    from tokeneconomizer.scheduler.application import Application
    from tokeneconomizer.scheduler.fact_policy import FactPolicy
    from tokeneconomizer.scheduler.side_calls import SideCalls

ARCHIVED_WITHIN = timedelta(days=1)
"""Who switches it on is not asked about the whole history; what waits longer found no agent for a day."""

READ_PER_TICK = 10
"""A session's stream is read in some milliseconds, and hooks wait meanwhile."""

IDLE_S = 5.0
"""No hook called for so long: no turn is at work that the side call would take the processor from."""


class Proposing(Asking):
    """
    Asks the proposer, about one session at a time; see `Asking`.

    Args:
        policy: whose sessions are asked about.

    """

    WHO: ClassVar[str] = "proposer"
    PURPOSE: ClassVar[str] = PURPOSE

    def __init__(
        self,
        application: Application,
        policy: FactPolicy,
        side_calls: SideCalls,
        log: structlog.stdlib.BoundLogger,
        now: Callable[[], datetime],
        after: Callable[[], None],
    ) -> None:
        super().__init__(application, side_calls, log, now, after)
        self._policy = policy
        # Of these nothing is worth to be asked; they are forgotten with the day.
        self._passed_over: set[str] = set()

    def start_if_due(self, connection: sqlite3.Connection, events: EventLog) -> None:
        """
        Ask about the next session that was archived, if one is; returns at once.

        Args:
            connection: of the view `microskills`, which knows all events.
            events: the event log.

        """
        if not self._policy.is_anywhere_full or self._is_busy():
            return
        waiting = queries.not_asked_about(connection, (self._now() - ARCHIVED_WITHIN).isoformat())
        self._passed_over.intersection_update(one.stream_id for one in waiting)
        unread = (one for one in waiting if one.stream_id not in self._passed_over and self._may_ask(one))
        for archived in islice(unread, READ_PER_TICK):
            session = _calls_of(events.stream(archived.stream_id))
            digest = digest_of(session)
            if not digest:
                self._passed_over.add(archived.stream_id)
                continue
            known = queries.proposed_in(connection, archived.repository)
            self._begin(self._unharmed(self._ask(archived, session, digest, frozenset(known))))
            return

    def _may_ask(self, archived: Archived) -> bool:
        host = archived.host
        if not self._policy.may_ask(host, Place(archived.repository, archived.checkout)):
            return False
        limit = int(self._policy.configuration().get("facts.proposer_calls_per_day", host=host))
        return self._asked_today(host) < limit

    async def _ask(
        self, archived: Archived, session: list[Returned], digest: str, known: frozenset[str]
    ) -> None:
        question = Question(INSTRUCTIONS, digest)
        call = self._side_calls.ready(archived.host, question)
        answer: Answer | None = None
        try:
            answer = await self._side_calls.ask(archived.host, call)
        finally:
            # By this event a session is asked about once.
            self._store_cost(archived.host, archived.stream_id, question, answer)
        self._take(archived, session, answer, known)

    def _take(
        self, archived: Archived, session: list[Returned], answer: Answer, known: frozenset[str]
    ) -> None:
        proposals = proposals_from(answer.text)
        if proposals is None:
            self._tell("the proposer proposed nothing: its answer was not the object that it was asked for")
            return
        self.problem = ""
        watched = Watched(archived.checkout, stays_in_folder(archived.host, ""))
        found = [one for one in borne_out(proposals, watched, session) if one.fact_id not in known]
        self._log.info("proposer answered", proposals=len(proposals), borne_out=len(found))
        if found:
            self._application.facts_proposed(archived.repository, self._now(), archived.stream_id, found)
            self._after()


def _calls_of(stream: list[LogEntry]) -> list[Returned]:
    """Return the calls of a stream, those of a shell with their commands."""
    commands: dict[object, tuple[str, bool]] = {}
    calls: list[Returned] = []
    for row in stream:
        if not isinstance(row, EventRow):
            continue
        data = row.data
        if row.topic == "session.tool_called" and data["kind"] == "shell":
            commands[data["call_id"]] = (str(data["command"]), bool(data["background"]))
        elif row.topic == "session.tool_returned":
            command, background = commands.pop(data["call_id"], ("", False))
            calls.append(Returned(row.position, command, background, data))
    return calls
