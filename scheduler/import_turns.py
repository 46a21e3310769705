"""
An agent's log as the commands that its hooks would have sent: pure, one record after the other.

What belongs to a turn comes with it, so that a turn is imported as a whole or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD
from tokeneconomizer.domain.commands import Compact, EndTurn, ReturnCalls, SessionKey, SubmitPrompt
from tokeneconomizer.domain.labels import label
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedSession,
    LoggedStep,
    LoggedStop,
    LoggedUsage,
    LoggedWindow,
)
from tokeneconomizer.hosts.steps import Steps
from tokeneconomizer.scheduler.told_contexts import ToldContexts, with_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.accounting.told import ToldContext
    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.records import Record, ReplayRecord

NO_TIME = datetime(2020, 1, 1, tzinfo=UTC)
"""Where a log has no times at all; each record counts as a second later than the one before."""


@dataclass(slots=True)
class Turn:
    """
    One turn, ready to be handled.

    Attributes:
        session: whose.
        steps: what happened, each with its time.
        told: what the log tells of its context.
        reply_id: of its last model reply so far, or empty.
        replied_at: when that was logged.
        is_over: whether the log shows its end; the last turn of a log may still be going on.

    """

    session: LoggedSession
    key: SessionKey
    steps: list[tuple[datetime, Step]] = field(default_factory=list)
    told: ToldContext = NOTHING_TOLD
    reply_id: str = ""
    replied_at: datetime | None = None
    is_over: bool = False

    @property
    def began_at(self) -> datetime:
        """When its first step happened."""
        return self.steps[0][0]

    @property
    def ended_at(self) -> datetime:
        """When its last step happened, or its last reply came."""
        last = self.steps[-1][0]
        return max(last, self.replied_at) if self.replied_at else last

    def add_reply(self, usage: UsageRecord) -> None:
        """Take what a model reply cost."""
        self.reply_id, self.replied_at = usage.usage_id, usage.at


class TurnsOfLog:
    """Cuts the records of one log into turns, for each agent of each session in it."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._session: LoggedSession | None = None
        self._agents: dict[SessionKey, _Agent] = {}

    def take(self, record: Record) -> Iterator[Turn]:
        """Yield the turns that a record completes."""
        if isinstance(record, LoggedSession):
            self._session = record
            return
        if self._session is None:
            return
        about = record.usage if isinstance(record, LoggedUsage) else record
        agent_id = getattr(about, "agent_id", "") or self._session.agent_id
        key = SessionKey(self._host, label(self._session.session_id), label(agent_id))
        agent = self._agents.get(key)
        if agent is None:
            agent = self._agents[key] = _Agent(self._session, key)
        yield from agent.take(record)

    def has_open_turn(self) -> bool:
        """Whether records were taken that belong to a turn which is not over."""
        return any(agent.is_open for agent in self._agents.values())

    def rest(self) -> Iterator[Turn]:
        """Yield the last turn of each agent."""
        for agent in self._agents.values():
            yield from agent.rest()


class _Agent:
    """The open turn of one agent."""

    def __init__(self, session: LoggedSession, key: SessionKey) -> None:
        self._session = session
        self._key = key
        self._pairing = Steps()
        self._at = session.at or NO_TIME
        self._turn = Turn(session, key)
        self._contexts = ToldContexts()

    @property
    def is_open(self) -> bool:
        return bool(self._turn.steps) or self._pairing.has_open_calls

    def take(self, record: Record) -> Iterator[Turn]:
        if isinstance(record, LoggedCompaction):
            self._add(record.at, Compact(record.trigger, record.summary_characters))
            return
        self._contexts.take(record)
        if isinstance(record, LoggedUsage) and self.is_open:
            self._turn.add_reply(record.usage)
        for paired in self._pairing.take(record):
            yield from self._take_paired(paired)

    def rest(self) -> Iterator[Turn]:
        for paired in self._pairing.flush():
            yield from self._take_paired(paired)
        if self._turn.steps:
            self._turn.told = self._contexts.of_turn()
            yield self._turn

    def _take_paired(self, record: ReplayRecord) -> Iterator[Turn]:
        match record:
            case LoggedPrompt():
                if self._turn.steps and not self._is_only_prelude():
                    yield self._closed()
                self._contexts.begin_turn()
                prompt_id = record.prompt_id or f"line {record.line}"
                prompt = SubmitPrompt(
                    prompt_id, record.text, record.kind, record.tools_named, record.skills_named
                )
                self._add(record.at, prompt)
            case LoggedStep():
                self._add(record.at, ReturnCalls(record.calls, whole_step=True))
            case LoggedStop():
                self._add(record.at, EndTurn(record.reason))
                yield self._closed()
            case _:
                return

    def _is_only_prelude(self) -> bool:
        """Whether nothing but compactions came since the last turn: they go with the next one."""
        return all(isinstance(step, Compact) for _, step in self._turn.steps)

    def _add(self, at: datetime | None, step: Step) -> None:
        # Times never go back: the order of a log's lines is what happened.
        self._at = max(at, self._at) if at else self._at + timedelta(seconds=1)
        self._turn.steps.append((self._at, step))

    def _closed(self) -> Turn:
        closed, self._turn = self._turn, Turn(self._session, self._key)
        closed.told = self._contexts.of_turn()
        closed.is_over = True
        self._contexts.begin_turn()
        return closed


class HeldTurns:
    """
    Holds back the last turn of each agent, for what its log tells behind its end.

    An agent may write a last reply down once more; Copilot tells at a session's end what its context holds.
    """

    def __init__(self) -> None:
        self._turns: dict[SessionKey, Turn] = {}
        self._open_again: set[str] = set()

    def add(self, record: Record) -> None:
        """Take a record for the turns that it still belongs to."""
        if isinstance(record, LoggedPrompt | LoggedCall):
            self._open_again.add(record.agent_id)
        for turn in self._turns.values():
            agent_id = turn.key.agent_id
            if isinstance(record, LoggedUsage) and turn.reply_id == record.usage.usage_id:
                turn.add_reply(record.usage)
            elif (
                isinstance(record, LoggedWindow)
                and record.agent_id == agent_id
                and agent_id not in self._open_again
            ):
                turn.told = with_window(turn.told, record)

    def take(self, turn: Turn) -> list[Turn]:
        """Hold a turn; return the one before it, for which nothing more can come."""
        before = self._turns.pop(turn.key, None)
        self._turns[turn.key] = turn
        if isinstance(turn.steps[-1][1], EndTurn):
            self._open_again.discard(turn.key.agent_id)
        return [] if before is None else [before]

    def rest(self) -> list[Turn]:
        """Return those that are held, in the order in which they ended."""
        return list(self._turns.values())
