"""
What happens in an agent's session: one event class per fact, stored for ever.

The stream's id is made of host, session id and agent id (`''` for the main agent). All fields are flat:
strings, numbers, booleans, None, lists of strings; a nested value is one canonical JSON string. Texts have
passed through `tokeneconomizer.domain.digests`. `timestamp` is the hook's time; `delivery_id` names the
hook call that caused the event, or is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eventsourcing.domain import Aggregate

if TYPE_CHECKING:
    from tokeneconomizer.domain.session import Session


UNSEEN = "unseen"
"""The source of a session whose start no hook told."""


class SessionEvent(Aggregate.Event):
    """The base of all session events."""

    TOPIC: ClassVar[str]
    delivery_id: str

    def apply(self, aggregate: Session) -> None:
        """Hand the event to the session, which evolves by it."""
        aggregate.evolve(self)


class SessionStarted(SessionEvent, Aggregate.Created):
    """A session, or a sub-agent within one, was seen for the first time."""

    TOPIC = "session.started"
    host: str
    session_id: str
    agent_id: str
    parent: str
    """Stream id of the session that started this sub-agent, or empty."""
    agent_type: str
    repository: str
    """Identity: normalised origin, else the common git folder, else the folder."""
    checkout: str
    source: str
    """What the agent said: startup, resume, clear, fork ...; `unseen` when the first sight was no start."""
    model: str
    content_hash: str
    """Keyed hash of what makes a second delivery of the same start equal to this one."""
    limits: str
    """Canonical JSON of the guard's limits in force."""


class SessionResumed(SessionEvent):
    """The session goes on: resumed, or started anew within itself after a compaction."""

    TOPIC = "session.resumed"
    source: str
    seconds_since_last_response: float | None
    context_tokens: int | None
    cache_expired: bool | None
    content_hash: str
    limits: str


class FactsInjected(SessionEvent):
    """The facts block was handed to the agent, exactly these characters."""

    TOPIC = "session.facts_injected"
    text: str
    block_version: int
    """Version of the BlockRendered event in the repository's stream; 0 where an older block lay on disk."""


class PromptSubmitted(SessionEvent):
    """A prompt opened a turn; of the prompt itself only its length and the tools it names are kept."""

    TOPIC = "session.prompt_submitted"
    turn: int
    prompt_id: str
    kind: str
    """`human`, or `machine` for prompts that the agent made itself."""
    characters: int
    content_hash: str
    tools_named: list[str]
    skills_named: list[str]
    limits: str


class ToolCalled(SessionEvent):
    """The model asked for a tool."""

    TOPIC = "session.tool_called"
    turn: int
    step: int
    """Calls of one model reply run side by side and share the step's number, counted in the turn from 1."""
    whole_step: bool
    """Whether it was delivered together with all calls of its step, so that the step is complete."""
    call_id: str
    agent_id: str
    tool: str
    kind: str
    server: str
    target: str
    target_hash: str
    command: str
    command_template: str
    input_characters: int
    arguments_hash: str
    edit_hash: str
    background: bool


class ToolReturned(SessionEvent):
    """The tool's result, as the model got it."""

    TOPIC = "session.tool_returned"
    turn: int
    call_id: str
    agent_id: str
    status: str
    """`ok`, `failed` or `never_ran`."""
    exit_code: int | None
    interrupted: bool
    duration_ms: int | None
    output_characters: int
    result_hash: str
    signature: str
    signature_hash: str
    verdict: str | None
    """The test runner's verdict; None where none was made."""
    verdict_rule: str
    verdict_version: int
    written: list[str]
    """Base names of the files that the call wrote; `?` for one that its command does not name."""


class StepEnded(SessionEvent):
    """A step is complete whose calls had all been stored one by one; stored only then."""

    TOPIC = "session.step_ended"
    turn: int
    step: int


class GateFired(SessionEvent):
    """The turn is far outside what green turns take, without progress."""

    TOPIC = "session.gate_fired"
    turn: int
    measure: str
    value: float
    limit: float


class JudgeAsked(SessionEvent):
    """A side call was started to judge the turn."""

    TOPIC = "session.judge_asked"
    turn: int
    side_call_id: str
    digest_characters: int


class VerdictGiven(SessionEvent):
    """The judge's answer."""

    TOPIC = "session.verdict_given"
    turn: int
    side_call_id: str
    verdict: str
    confidence: float | None
    model: str


class Redirected(SessionEvent):
    """One short line was put beside the newest tool result."""

    TOPIC = "session.redirected"
    turn: int
    number: int
    """1 or 2 within the turn."""
    rule: str
    evidence: str
    """The masked words of the failure, or the tool's name."""
    evidence_hash: str
    occurrences: int
    call_number: int
    """Number of the newest call in the turn, counted from 1."""
    call_id: str
    text: str
    limits: str


class StopHinted(SessionEvent):
    """The user was told that the turn stays stuck."""

    TOPIC = "session.stop_hinted"
    turn: int
    evidence_hash: str
    call_number: int
    call_id: str
    text: str
    echo: bool
    """Whether the model was also asked to repeat the hint."""


class DeliveryFailed(SessionEvent):
    """The reply that held an injection, redirect or hint never reached the agent: it does not count."""

    TOPIC = "session.delivery_failed"
    failed_topic: str
    failed_version: int
    """Version, in this stream, of the event that was not delivered."""
    reason: str


class Compacted(SessionEvent):
    """The agent replaced its conversation by a summary."""

    TOPIC = "session.compacted"
    trigger: str
    summary_characters: int | None
    """None where the agent does not tell."""


class TurnEnded(SessionEvent):
    """The turn is over."""

    TOPIC = "session.turn_ended"
    turn: int
    prompt_id: str
    reason: str
    """`stop`, `no_stop` when something else ended it, or the class of the error that did."""
    outcome: str
    """`green`, `red`, or `unverified` when no test run says."""
    calls: int
    failures: int
    edits: int
    steps: int
    duration_ms: int
    written: list[str]
    """Base names of the files that the turn wrote, each once; the last ones when they are many."""


class ContextAccounted(SessionEvent):
    """What really entered the turn's context."""

    TOPIC = "session.context_accounted"
    class_version = 2
    turn: int
    snapshot: str
    """Canonical JSON of the snapshot, in the contract's form."""
    used_tokens: int | None = None
    """What the agent itself said that its context holds; None where it did not say."""
    window_tokens: int | None = None
    """What it said that fits."""

    @staticmethod
    def upcast_v1_v2(state: dict[str, object]) -> None:
        """Version 1 did not keep what the agent said."""
        state |= {"used_tokens": None, "window_tokens": None}


class SessionEnded(SessionEvent):
    """The agent said that the session, or the sub-agent, is over."""

    TOPIC = "session.ended"
    reason: str


class SessionArchived(SessionEvent):
    """Nothing more is expected of the session."""

    TOPIC = "session.archived"
    reason: str
    """`ended`, or `silence` when the agent said nothing for a named time."""


SAYING = (FactsInjected, Redirected, StopHinted)
"""Events that count only when their reply reached the agent."""
