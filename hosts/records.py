"""
What an agent's own log tells, in neutral records: the same for all agents, in the order of its lines.

Lines count from 1. `agent_id` names the sub-agent that a record belongs to; empty for the main agent. Records
belong to the session that the last `LoggedSession` before them named. Texts are raw and live in memory only.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - a sweep keeps LoggedSession in a file: its types are looked up
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.commands import PromptKind
    from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
    from tokeneconomizer.domain.usage_record import UsageRecord


class SessionOrigin(StrEnum):
    """How a session, or a file of it, came to be."""

    NEW = "new"
    FORK = "fork"
    SUB_AGENT = "sub_agent"


@dataclass(frozen=True, slots=True)
class LoggedSession:
    """
    The records after this one belong to this session; told again whenever one of its fields changes.

    Attributes:
        parent: the session that it was forked from or works for, else empty.
        agent_id: set when the whole file is a sub-agent's.
        folder: where the agent works.
        repository_url: as the log itself names it, else empty.
        version: of the agent.

    """

    line: int
    at: datetime | None
    session_id: str
    origin: SessionOrigin = SessionOrigin.NEW
    parent: str = ""
    agent_id: str = ""
    agent_type: str = ""
    folder: str = ""
    repository_url: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class LoggedPrompt:
    """A prompt opens a turn; the names are those of tools and skills that it asks for by name."""

    line: int
    at: datetime | None
    prompt_id: str
    text: str
    kind: PromptKind
    agent_id: str = ""
    tools_named: tuple[str, ...] = ()
    skills_named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """
    A call that the model asked for; fields as in `domain.digests.Call`.

    Attributes:
        step: the same for the calls of one model reply; empty for a call that is a step of its own.

    """

    line: int
    at: datetime | None
    step: str
    call_id: str
    tool: str
    kind: CallKind
    arguments: Mapping[str, object]
    server: str = ""
    command: str = ""
    target: str = ""
    edited: str = ""
    background: bool = False
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedResult:
    """
    A call came back; a second result of the same call replaces the first.

    Attributes:
        goes_on: what it started still runs, so that its output is not whole.

    """

    line: int
    at: datetime | None
    call_id: str
    text: str
    status: CallStatus
    exit_code: int | None = None
    interrupted: bool = False
    duration_ms: int | None = None
    goes_on: bool = False
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """
    The calls of one model reply, all back: made of the two above by `hosts.steps`.

    Attributes:
        lines: for each call, the line that holds it.
        last_line: the line of the last result.

    """

    calls: tuple[Call, ...]
    lines: tuple[int, ...]
    last_line: int
    at: datetime | None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedStop:
    """The turn is over; `reason` as in EndTurn."""

    line: int
    at: datetime | None
    reason: str
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedUsage:
    """Tokens of one model reply."""

    line: int
    usage: UsageRecord


@dataclass(frozen=True, slots=True)
class LoggedWindow:
    """What the agent itself says of its context: tokens in use, tokens that fit; None where not shown."""

    line: int
    at: datetime | None
    used: int | None
    size: int | None
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedCompaction:
    """The conversation was replaced by a summary; sizes where shown."""

    line: int
    at: datetime | None
    trigger: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary_characters: int = 0
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class LoggedSubAgent:
    """A sub-agent started (`ended` False) or ended; `call_id` is the call that asked for it."""

    line: int
    at: datetime | None
    agent_id: str
    agent_type: str = ""
    call_id: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class LoggedTool:
    """
    A tool that the model could call.

    Attributes:
        characters: of its definition as compact JSON; None where the log shows only the name.
        deferred: only its name is in the context until it is asked for.

    """

    name: str
    characters: int | None = None
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class LoggedCatalogue:
    """
    The tools of the session from here on.

    Attributes:
        whole: True when `tools` are all loaded ones, False when they are added to what was there.
        removed: names that are gone.
        tokens: of all definitions, where the agent counts them itself.
        prompt_characters: of the system prompt that was sent with these definitions; None where not shown.

    """

    line: int
    at: datetime | None
    tools: tuple[LoggedTool, ...]
    whole: bool
    removed: tuple[str, ...] = ()
    tokens: int | None = None
    agent_id: str = ""
    prompt_characters: int | None = None


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """
    A line that cannot be read; it loses only itself.

    Attributes:
        recovered: how many whole objects were found in it all the same; their records follow.

    """

    line: int
    recovered: int = 0


Record = (
    LoggedSession
    | LoggedPrompt
    | LoggedCall
    | LoggedResult
    | LoggedStop
    | LoggedUsage
    | LoggedWindow
    | LoggedCompaction
    | LoggedSubAgent
    | LoggedCatalogue
    | SkippedLine
)

ReplayRecord = LoggedPrompt | LoggedStep | LoggedStop | SkippedLine
"""What a replay of the guard needs: calls as whole steps."""
