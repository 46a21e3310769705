"""
A session as a state machine: idle -> working -> redirected -> stuck, ended, archived.

Its state is small and bounded, because every hook call works on it: counters, the turn's window, and the
last delivery and call ids.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.domain import Aggregate

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.accounting.turn import count_call
from tokeneconomizer.domain.guard.answers import is_answer
from tokeneconomizer.domain.guard.call_record import CallRecord
from tokeneconomizer.domain.guard.decide import JUDGE
from tokeneconomizer.domain.guard.judge import is_sure
from tokeneconomizer.domain.guard.limits import Limits
from tokeneconomizer.domain.guard.turn import RedirectRecord, TurnState
from tokeneconomizer.domain.guard.waiting import waits

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from tokeneconomizer.domain.commands import SessionKey
    from tokeneconomizer.domain.session_snapshot import SessionSnapshot

NAMESPACE = uuid5(NAMESPACE_URL, "tokeneconomizer:session")

DELIVERIES_KEPT = 128
"""A payload is spooled and stored again within seconds; this many hook calls cover an hour of work."""

CALLS_KEPT = 256
"""A call's id comes back within its step; steps hold tens of calls at most."""

SAID_KEPT = 8
"""What may still turn out not to have arrived: the hook client confirms, or spools, within seconds."""

CONTENTS_KEPT = 8
"""Prompts and starts that a second registration could deliver once more within seconds."""

STREAM_IDS_KEPT = 256
"""Asked for with every hook call; more sessions than a person has open."""


Key = TypeVar("Key")
Value = TypeVar("Value")


class Phase(StrEnum):
    """Where a session stands."""

    IDLE = "idle"
    WORKING = "working"
    REDIRECTED = "redirected"
    STUCK = "stuck"
    ENDED = "ended"
    ARCHIVED = "archived"


_REACTIONS: dict[type[happened.SessionEvent], Callable[[Session, Any], None]] = {}
Reaction = TypeVar("Reaction", bound="Callable[[Any, Any], None]")


def _reacts_to(event: type[happened.SessionEvent]) -> Callable[[Reaction], Reaction]:
    """Let a method evolve the session by events of a class; `functools` finds it slower than it runs."""

    def register(reaction: Reaction) -> Reaction:
        _REACTIONS[event] = reaction
        return reaction

    return register


class FirstFacts(NamedTuple):
    """The block that a session got at its start, and the version of its event; empty where it got none."""

    text: str = ""
    version: int = 0


class Session(Aggregate):
    """One agent's session, or one sub-agent within it."""

    TOPIC = "session"
    Event = happened.SessionEvent
    Created = happened.SessionStarted
    Resumed = happened.SessionResumed
    FactsInjected = happened.FactsInjected
    PromptSubmitted = happened.PromptSubmitted
    ToolCalled = happened.ToolCalled
    ToolReturned = happened.ToolReturned
    StepEnded = happened.StepEnded
    GateFired = happened.GateFired
    JudgeAsked = happened.JudgeAsked
    VerdictGiven = happened.VerdictGiven
    Redirected = happened.Redirected
    StopHinted = happened.StopHinted
    DeliveryFailed = happened.DeliveryFailed
    Compacted = happened.Compacted
    TurnEnded = happened.TurnEnded
    ContextAccounted = happened.ContextAccounted
    SessionEnded = happened.SessionEnded
    SessionArchived = happened.SessionArchived

    def __init__(self, host: str, session_id: str, agent_id: str, repository: str, checkout: str) -> None:
        self.host = host
        self.session_id = session_id
        self.agent_id = agent_id
        self.repository = repository
        self.checkout = checkout
        self.phase = Phase.IDLE
        self.turn = TurnState()
        self.limits = Limits()
        self.deliveries: dict[str, None] = {}
        self.returned: dict[str, None] = {}
        self.contents: dict[str, float] = {}
        self.called: dict[str, happened.ToolCalled] = {}
        self.said: dict[int, tuple[str, str]] = {}
        self.first_facts = FirstFacts()
        self.end_is_stored = False
        self.start_was_seen = False
        self.judge_calls = 0
        self.snapshot_version = 0

    @staticmethod
    @lru_cache(maxsize=STREAM_IDS_KEPT)
    def create_id(host: str, session_id: str, agent_id: str) -> UUID:
        """Return the stream id."""
        return uuid5(NAMESPACE, f"{host}\n{session_id}\n{agent_id}")

    @classmethod
    def stream_id(cls, key: SessionKey) -> UUID:
        """Return the stream id of a key."""
        return cls.create_id(key.host, key.session_id, key.agent_id)

    @classmethod
    def start(
        cls, key: SessionKey, timestamp: datetime, stream_id: UUID | None = None, **fields: Any
    ) -> Self:
        """Begin a session with its first event; in its own stream, or in another."""
        return cls._create(
            cls.Created,
            id=stream_id or cls.stream_id(key),
            timestamp=timestamp,
            host=key.host,
            session_id=key.session_id,
            agent_id=key.agent_id,
            **fields,
        )

    def state(self) -> dict[str, Any]:
        """Return the state between two turns as JSON values, for a snapshot."""
        return {
            "host": self.host,
            "session_id": self.session_id,
            "agent_id": self.agent_id,
            "repository": self.repository,
            "checkout": self.checkout,
            "phase": self.phase.value,
            "turn": self.turn.number,
            "limits": self.limits.to_json(),
            "deliveries": list(self.deliveries),
            "returned": list(self.returned),
            "contents": self.contents,
            "said": [[version, *said] for version, said in self.said.items()],
            "first_facts": list(self.first_facts),
            "end_is_stored": self.end_is_stored,
            "start_was_seen": self.start_was_seen,
            "judge_calls": self.judge_calls,
        }

    @classmethod
    def restored(cls, snapshot: SessionSnapshot) -> Self:
        """Return the session that `state` described."""
        state = snapshot.state
        session = cls.__new__(cls)
        session.__base_init__(snapshot.originator_id, snapshot.originator_version, snapshot.timestamp)
        session.__init__(  # type: ignore[misc]
            *(state[name] for name in ("host", "session_id", "agent_id", "repository", "checkout"))
        )
        session.phase = Phase(state["phase"])
        session.turn = TurnState(number=state["turn"])
        session.limits = Limits.from_json(state["limits"])
        session.deliveries = dict.fromkeys(state["deliveries"])
        session.returned = dict.fromkeys(state["returned"])
        session.contents = dict(state["contents"])
        session.said = {version: (topic, delivery_id) for version, topic, delivery_id in state["said"]}
        session.first_facts = FirstFacts(*state["first_facts"])
        session.end_is_stored = state["end_is_stored"]
        session.start_was_seen = state["start_was_seen"]
        session.judge_calls = state["judge_calls"]
        session.snapshot_version = snapshot.originator_version
        return session

    def has_delivery(self, delivery_id: str) -> bool:
        """Whether the hook call of that id is stored already."""
        return delivery_id in self.deliveries

    def has_returned(self, call_id: str) -> bool:
        """Whether the call's result is stored already."""
        return call_id in self.returned

    def has_ended(self, turn: int) -> bool:
        """Whether a turn is over: a call of it that is stored now was found in the agent's log."""
        return turn < self.turn.number or (turn == self.turn.number and not self.turn.is_open)

    def said_in(self, delivery_id: str) -> list[tuple[str, int]]:
        """Return topic and version of what that hook call's reply said and what counts as delivered."""
        return [
            (topic, version) for version, (topic, given_in) in self.said.items() if given_in == delivery_id
        ]

    def counts_as_said(self, version: int) -> bool:
        """Whether the event of that version said something lately, and was not taken back."""
        return version in self.said

    def seconds_since_content(self, content_hash: str, at: datetime) -> float | None:
        """Return how long ago the same prompt or start was seen, or None."""
        seen = self.contents.get(content_hash)
        return None if seen is None else at.timestamp() - seen

    def evolve(self, event: happened.SessionEvent) -> None:
        """Take in one event."""
        if event.delivery_id:
            _keep(self.deliveries, event.delivery_id, None, DELIVERIES_KEPT)
        if isinstance(event, happened.SAYING):
            _keep(self.said, event.originator_version, (event.TOPIC, event.delivery_id), SAID_KEPT)
        reaction = _REACTIONS.get(type(event))
        # Events without one leave the state alone.
        if reaction is not None:
            reaction(self, event)

    @_reacts_to(happened.SessionStarted)
    def _on_session_started(self, event: happened.SessionStarted) -> None:
        self.limits = Limits.from_json(event.limits)
        self.start_was_seen = event.source != happened.UNSEEN
        self._remember_content(event.content_hash, event.timestamp)

    @_reacts_to(happened.SessionResumed)
    def _on_session_resumed(self, event: happened.SessionResumed) -> None:
        self.start_was_seen = True
        self.phase = Phase.WORKING if self.turn.is_open else Phase.IDLE
        self.end_is_stored = False
        self.limits = Limits.from_json(event.limits)
        self._remember_content(event.content_hash, event.timestamp)

    @_reacts_to(happened.FactsInjected)
    def _on_facts_injected(self, event: happened.FactsInjected) -> None:
        if not self.first_facts.text:
            self.first_facts = FirstFacts(event.text, event.originator_version)

    @_reacts_to(happened.PromptSubmitted)
    def _on_prompt_submitted(self, event: happened.PromptSubmitted) -> None:
        self.limits = Limits.from_json(event.limits)
        self._remember_content(event.content_hash, event.timestamp)
        self._open_turn(event.turn, event.timestamp, event.prompt_id, is_whole=True)

    @_reacts_to(happened.ToolCalled)
    def _on_tool_called(self, event: happened.ToolCalled) -> None:
        if self.has_ended(event.turn):
            return
        if not self.turn.is_open:
            # A sub-agent gets no prompt; a main agent's was missed, and maybe calls with it.
            is_whole = bool(self.agent_id) and self.start_was_seen
            self._open_turn(event.turn, event.timestamp, prompt_id="", is_whole=is_whole)
        self.turn.steps = event.step
        self.turn.step_is_open = not event.whole_step
        self.called[event.call_id] = event

    @_reacts_to(happened.ToolReturned)
    def _on_tool_returned(self, event: happened.ToolReturned) -> None:
        called = self.called.pop(event.call_id, None)
        if called is None and not self.has_ended(event.turn):
            return
        _keep(self.returned, event.call_id, None, CALLS_KEPT)
        if called is None:
            return
        self.turn.remember(_call_record(called, event, self.turn.calls + 1))
        self.turn.judge(event.verdict, event.written)
        count_call(self.turn, called, event.output_characters)

    @_reacts_to(happened.StepEnded)
    def _on_step_ended(self, _event: happened.StepEnded) -> None:
        self.turn.step_is_open = False

    @_reacts_to(happened.GateFired)
    def _on_gate_fired(self, event: happened.GateFired) -> None:
        self.turn.is_gated = self.turn.is_gated or event.turn == self.turn.number

    @_reacts_to(happened.JudgeAsked)
    def _on_judge_asked(self, event: happened.JudgeAsked) -> None:
        self.judge_calls += 1
        self.turn.is_asked_about = self.turn.is_asked_about or event.turn == self.turn.number

    @_reacts_to(happened.VerdictGiven)
    def _on_verdict_given(self, event: happened.VerdictGiven) -> None:
        # The turn may have ended while the judge was thinking.
        if self.turn.is_open and event.turn == self.turn.number:
            self.turn.is_judged_stuck = is_sure(event.verdict, event.confidence, self.limits)

    @_reacts_to(happened.Redirected)
    def _on_redirected(self, event: happened.Redirected) -> None:
        self.phase = Phase.REDIRECTED
        self.turn.undelivered = None
        if event.rule == JUDGE:
            self.turn.is_judged_stuck = False
        self.turn.redirects.append(
            RedirectRecord(
                version=event.originator_version,
                call_number=event.call_number,
                rule=event.rule,
                evidence=event.evidence,
                evidence_hash=event.evidence_hash,
                occurrences=event.occurrences,
            )
        )

    @_reacts_to(happened.StopHinted)
    def _on_stop_hinted(self, event: happened.StopHinted) -> None:
        self.phase = Phase.STUCK
        self.turn.hint_version = event.originator_version

    @_reacts_to(happened.DeliveryFailed)
    def _on_delivery_failed(self, event: happened.DeliveryFailed) -> None:
        self.said.pop(event.failed_version, None)
        if event.failed_version == self.first_facts.version:
            self.first_facts = FirstFacts()
        self.turn.forget_undelivered(event.failed_version)
        if self.turn.is_open:
            self.phase = Phase.REDIRECTED if self.turn.redirects else Phase.WORKING

    @_reacts_to(happened.TurnEnded)
    def _on_turn_ended(self, event: happened.TurnEnded) -> None:
        self.turn = TurnState(number=event.turn)
        self.start_was_seen = False
        self.called = {}
        self.phase = Phase.IDLE

    @_reacts_to(happened.SessionEnded)
    def _on_session_ended(self, _event: happened.SessionEnded) -> None:
        self.phase = Phase.ENDED
        self.end_is_stored = True

    @_reacts_to(happened.SessionArchived)
    def _on_session_archived(self, _event: happened.SessionArchived) -> None:
        self.phase = Phase.ARCHIVED

    def _open_turn(self, number: int, at: datetime, prompt_id: str, *, is_whole: bool) -> None:
        self.turn = TurnState(
            number=number,
            is_open=True,
            prompt_id=prompt_id,
            started_at=at.timestamp(),
            is_whole=is_whole,
        )
        self.end_is_stored = False
        self.phase = Phase.WORKING

    def _remember_content(self, content_hash: str, at: datetime) -> None:
        self.contents.pop(content_hash, None)
        _keep(self.contents, content_hash, at.timestamp(), CONTENTS_KEPT)


def _keep(memory: dict[Key, Value], key: Key, value: Value, limit: int) -> None:
    """Add to a bounded memory; the oldest entry goes."""
    memory[key] = value
    if len(memory) > limit:
        del memory[next(iter(memory))]


def _call_record(called: happened.ToolCalled, returned: happened.ToolReturned, number: int) -> CallRecord:
    return CallRecord(
        number=number,
        step=called.step,
        call_id=called.call_id,
        tool=called.tool,
        command=called.command,
        target=called.target,
        target_hash=called.target_hash,
        arguments_hash=called.arguments_hash,
        status=returned.status,
        exit_code=returned.exit_code,
        result_hash=returned.result_hash,
        signature=returned.signature,
        signature_hash=returned.signature_hash,
        edits=bool(returned.written),
        waits=waits(called.tool, called.kind, called.command, called.target),
        kind=called.kind,
        edit_hash=called.edit_hash,
        verdict=returned.verdict or "",
        is_answer=is_answer(called.command_template, returned),
        template=called.command_template,
    )
