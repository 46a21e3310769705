"""What Copilot CLI's events tell besides tokens and the session itself: each by itself, without state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.hosts.copilot.log_calls import calls_of, result_of
from tokeneconomizer.hosts.fields import count, flag, mapping, moment, text
from tokeneconomizer.hosts.records import (
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedStop,
    LoggedSubAgent,
    LoggedWindow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.records import Record

_HUMAN_SOURCES = ("", "user")
"""Origins of a message that a person typed; other messages come from programs."""

_INJECTED_PREFIXES = ("skill-",)
"""Origins of a text that belongs to a turn and opens none."""


def records_of(number: int, line: Mapping[str, object]) -> list[Record]:
    """Return the records of an event."""
    reader = _READERS.get(text(line, "type"))
    if reader is None:
        return []
    data = mapping(line, "data")
    agent_id = text(line, "agentId") or text(data, "parentToolCallId")
    return reader(_Place(number, moment(line, "timestamp"), agent_id, text(line, "id")), data)


class _Place(NamedTuple):
    """Where an event stands, and whose it is."""

    line: int
    at: datetime | None
    agent_id: str
    event_id: str


def _prompt(place: _Place, data: Mapping[str, object]) -> list[Record]:
    prompt, source = text(data, "content"), text(data, "source")
    if not prompt.strip() or source.startswith(_INJECTED_PREFIXES):
        return []
    by_program = place.agent_id or source not in _HUMAN_SOURCES or flag(data, "isAutopilotContinuation")
    kind = PromptKind.MACHINE if by_program else PromptKind.HUMAN
    return [LoggedPrompt(place.line, place.at, place.event_id, prompt, kind, place.agent_id)]


def _message(place: _Place, data: Mapping[str, object]) -> list[Record]:
    """Return the calls of a model's message; without any it is the last of its turn."""
    asked = calls_of(place.line, place.at, data, place.agent_id)
    return [*asked] if asked else [LoggedStop(place.line, place.at, "stop", place.agent_id)]


def _result(place: _Place, data: Mapping[str, object]) -> list[Record]:
    result = result_of(place.line, place.at, data, place.agent_id)
    metrics = mapping(mapping(data, "toolTelemetry"), "metrics")
    used, size = count(metrics, "context_current_tokens"), count(metrics, "context_token_limit")
    found: list[Record] = [result] if result else []
    if used is not None or size is not None:
        found.append(LoggedWindow(place.line, place.at, used, size, place.agent_id))
    return found


def _reply_context(place: _Place, data: Mapping[str, object]) -> list[Record]:
    """Return what a usage record tells of the context: how much fits, and what the tools take of it."""
    usage = mapping(data, "usage")
    size, tokens = count(usage, "maxPromptTokens"), count(usage, "toolTokenCount")
    agent_id = place.agent_id or text(usage, "parentToolCallId")
    found: list[Record] = []
    if size is not None:
        found.append(LoggedWindow(place.line, place.at, None, size, agent_id))
    if tokens is not None:
        found.append(_catalogue(place._replace(agent_id=agent_id), tokens))
    return found


def _shutdown_context(place: _Place, data: Mapping[str, object]) -> list[Record]:
    used, tokens = count(data, "currentTokens"), count(data, "toolDefinitionsTokens")
    found: list[Record] = []
    if used is not None:
        found.append(LoggedWindow(place.line, place.at, used, None))
    if tokens is not None:
        found.append(_catalogue(place, tokens))
    return found


def _catalogue(place: _Place, tokens: int) -> LoggedCatalogue:
    """Return how large the definitions are: their names are in no event."""
    return LoggedCatalogue(place.line, place.at, (), whole=False, tokens=tokens, agent_id=place.agent_id)


def _compaction(place: _Place, data: Mapping[str, object]) -> list[Record]:
    if flag(data, "success") is False:
        return []
    return [
        LoggedCompaction(
            line=place.line,
            at=place.at,
            trigger=text(data, "trigger"),
            tokens_before=count(data, "preCompactionTokens"),
            tokens_after=count(data, "postCompactionTokens"),
            summary_characters=len(text(data, "summaryContent")),
            agent_id=place.agent_id,
        )
    ]


def _sub_agent(place: _Place, data: Mapping[str, object], *, ended: bool) -> list[Record]:
    call_id = text(data, "toolCallId")
    agent_type = text(data, "agentType") or text(data, "agentName")
    return [LoggedSubAgent(place.line, place.at, place.agent_id or call_id, agent_type, call_id, ended)]


def _sub_agent_started(place: _Place, data: Mapping[str, object]) -> list[Record]:
    return _sub_agent(place, data, ended=False)


def _sub_agent_ended(place: _Place, data: Mapping[str, object]) -> list[Record]:
    return _sub_agent(place, data, ended=True)


def _error(place: _Place, data: Mapping[str, object]) -> list[Record]:
    return [LoggedStop(place.line, place.at, text(data, "errorType") or "error", place.agent_id)]


def _abort(place: _Place, _data: Mapping[str, object]) -> list[Record]:
    return [LoggedStop(place.line, place.at, "no_stop", place.agent_id)]


_READERS: dict[str, Callable[[_Place, Mapping[str, object]], list[Record]]] = {
    "abort": _abort,
    "assistant.message": _message,
    "session.compaction_complete": _compaction,
    "session.error": _error,
    "session.shutdown": _shutdown_context,
    "session.usage_record": _reply_context,
    "subagent.completed": _sub_agent_ended,
    "subagent.failed": _sub_agent_ended,
    "subagent.started": _sub_agent_started,
    "tool.execution_complete": _result,
    "user.message": _prompt,
}
