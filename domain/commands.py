"""
What an agent's hook tells us, in neutral words: the same for all agents.

Texts in commands are raw and live in memory only; `handle` turns them into events through `digests`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.told import NOTHING_TOLD, ToldContext

if TYPE_CHECKING:
    from datetime import datetime

    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.domain.prune_evidence import OfferedTool


class PromptKind(StrEnum):
    """Who wrote a prompt."""

    HUMAN = "human"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Names a stream: agent_id is empty for the main agent."""

    host: str
    session_id: str
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    One hook call.

    Attributes:
        delivery_id: random, given by the hook client; the same when the call is stored twice.
        at: the hook's time.
        via: the registration it came through: plugin, settings, repository, or empty.
        answered: True when the hook client has already given its answer by itself.
        given: the facts block in that answer, read from disk; else empty.

    """

    delivery_id: str
    at: datetime
    via: str = ""
    answered: bool = False
    given: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session works: identity of the repository and the checkout's path."""

    repository: str
    checkout: str


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """
    Where a session's open turn stands; empty where none is open.

    Attributes:
        prompt_id: the agent's own id of the turn, or of its prompt.
        newest_call: id of the newest call that came back.

    """

    prompt_id: str = ""
    newest_call: str = ""


@dataclass(frozen=True, slots=True)
class StartSession:
    """
    A session starts, resumes, or starts anew after a compaction.

    Attributes:
        source: what the agent says of it.
        reassembles: whether the agent puts its context together anew each time, instead of replaying its log.
        overlaps_prompt: whether the first prompt's hook runs beside this one, and may be heard before it.

    """

    source: str
    model: str = ""
    agent_type: str = ""
    seconds_since_last_response: float | None = None
    context_tokens: int | None = None
    cache_expired: bool | None = None
    reassembles: bool = False
    overlaps_prompt: bool = False

    @property
    def begins_anew(self) -> bool:
        """Whether the model starts without what an earlier start was given; a resumed session replays it."""
        return self.source in {"startup", "clear", "compact"}


@dataclass(frozen=True, slots=True)
class SubmitPrompt:
    """A prompt opens a turn; the names are those of tools and skills that it asks for by name."""

    prompt_id: str
    text: str
    kind: PromptKind
    tools_named: tuple[str, ...] = ()
    skills_named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StartCall:
    """The model's next call is about to run: what no hook told of the calls before it is known by now."""

    call_id: str


@dataclass(frozen=True, slots=True)
class ReturnCalls:
    """
    Calls of one model reply came back.

    Attributes:
        calls: the calls, in the model's order.
        whole_step: True when these are all calls of the reply, so that the step can be judged.

    """

    calls: tuple[Call, ...]
    whole_step: bool


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The agent stopped, or failed with an error of the named class, and may tell of its context."""

    reason: str
    told: ToldContext = NOTHING_TOLD


@dataclass(frozen=True, slots=True)
class Compact:
    """The conversation was replaced by a summary, whose size not every agent tells."""

    trigger: str
    summary_characters: int | None


@dataclass(frozen=True, slots=True)
class EndSession:
    """The session, or the sub-agent, is over."""

    reason: str


ENDS_OPEN_TURN = (StartSession, SubmitPrompt, EndSession)
"""Steps that find a turn open only when its end was told by no hook."""

Step = StartSession | SubmitPrompt | StartCall | ReturnCalls | EndTurn | Compact | EndSession


@dataclass(frozen=True, slots=True)
class HookCommand:
    """
    A hook call, decoded.

    Attributes:
        key: the stream.
        event: the agent's own name of the hook event, needed for the reply.
        cwd: the agent's working folder.
        transcript: path of the agent's own log, or empty.
        step: what happened; None for an event that we know and need not store.
        unheard: calls of the turn that is open until now, from the agent's own log, of which no hook told.
        running_turn: the agent's own id of the turn that this belongs to, where calls have no hook of their
            own and are to be looked for in the agent's log while it runs; else empty.
        looks_ahead: whether the agent's side does not wait for the answers to steps that need none.
        offered: the tools that the agent offers the model in this checkout, where it tells them and they are
            new or changed.

    """

    key: SessionKey
    event: str
    cwd: str
    transcript: str
    step: Step | None
    unheard: tuple[Call, ...] = ()
    running_turn: str = ""
    looks_ahead: bool = False
    offered: tuple[OfferedTool, ...] = ()
