"""
The tokens in Claude Code's lines, decoded by their types alone: what is not named here is passed over unread.

A reply is logged once a content block, with the usage as known then: the last line of a message counts. A
fork's log opens with the lines of the session that it comes from: newer ones (2.1.332) name it, others are
told by being older than what the fork itself wrote first.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
import orjson

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.claude_code.log_unlogged import FAST_SUFFIX, Unlogged
from tokeneconomizer.hosts.fields import count, flag, mapping, moment, text
from tokeneconomizer.hosts.typed_lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.hosts.log_format import State

SIDE_CHAIN = "side chain"
"""The sub-agents of logs before 2.0.2x, which stand between the main agent's lines without ids."""

SYNTHETIC_MODEL = "<synthetic>"
"""Stands in a reply that the agent made up itself: an API error, or a turn that was cut off."""

FAST = "fast"

USAGE_MARKERS: tuple[bytes, ...] = (b"",)
"""Stands in every line: to find those that matter by their bytes takes longer than to decode them all."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _CacheWrites(msgspec.Struct):
    ephemeral_5m_input_tokens: _Count | None = None
    ephemeral_1h_input_tokens: _Count | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None
    cache_read_input_tokens: _Count | None = None
    cache_creation_input_tokens: _Count | None = None
    cache_creation: _CacheWrites | None = None
    output_tokens_details: _OutputDetails | None = None
    speed: str | None = None


class _Message(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Reported(msgspec.Struct):
    """A sub-agent's line within a progress line of the main agent."""

    type: str | None = None
    message: _Message | None = None
    requestId: str | None = None  # noqa: N815 - the log's own names


class _Data(msgspec.Struct):
    agentId: str | None = None  # noqa: N815
    message: _Reported | None = None


class _Origin(msgspec.Struct):
    sessionId: str | None = None  # noqa: N815


class _Outcome(msgspec.Struct):
    """A result in the agent's own words; in those of a sub-agent's call stands its id."""

    agentId: str | None = None  # noqa: N815


class _Line(msgspec.Struct):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    sessionId: str | None = None  # noqa: N815
    requestSessionId: str | None = None  # noqa: N815
    forkedFrom: _Origin | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    requestId: str | None = None  # noqa: N815
    cwd: str | None = None
    timestamp: datetime | None = None
    message: _Message | None = None
    data: _Data | None = None
    toolUseResult: _Outcome | str | list[msgspec.Raw] | None = None  # noqa: N815


_DECODER = msgspec.json.Decoder(_Line)
_NO_USAGE, _NO_WRITES, _NO_DETAILS = _Usage(), _CacheWrites(), _OutputDetails()


class UsageReader:
    """Tokens of one file's lines, in their order."""

    def __init__(self, session_id: str, agent_id: str, state: State) -> None:
        self._session_id = session_id
        self._agent_id = agent_id
        self._born = datetime.fromisoformat(str(born)) if (born := state.get("born")) else None
        self._has_begun = state.get("has_begun") is True
        self._unlogged = Unlogged(str(state.get("unlogged", "")))

    def state(self) -> State:
        """Return what the next line needs."""
        born = self._born.isoformat() if self._born else None
        return {"born": born, "has_begun": self._has_begun, "unlogged": self._unlogged.state()}

    def is_copy(self, at: datetime | None) -> bool:
        """Return whether a line of that time was written before this file was: a fork copies such lines."""
        return at is not None and self._born is not None and at < self._born

    def read(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens of a line; see `hosts.log_format.LineReader.usage`."""
        try:
            line = decode_line(_DECODER, raw, _line)
        except (msgspec.DecodeError, orjson.JSONDecodeError):
            self._unlogged.others_spent()
            raise
        match line.type:
            case "assistant":
                return self._reply(line, line.message, line.requestId, "")
            case "progress" if line.data is not None and line.data.agentId:
                return self._of_sub_agent(line, line.data, line.data.agentId)
            case "queue-operation" if not self._has_begun and line.timestamp is not None:
                at = _in_utc(line.timestamp)
                self._born = max(self._born or at, at)
            case "system" if line.subtype == "compact_boundary" and line.uuid:
                self._unlogged.compacted(self._record(line, line.uuid, None, self._agent_id))
            case "cost-state":
                return self._unlogged.settle(raw)
            case "user" if isinstance(line.toolUseResult, _Outcome) and line.toolUseResult.agentId:
                self._unlogged.others_spent()
            case _:
                pass
        return []

    def _of_sub_agent(self, line: _Line, data: _Data, agent_id: str) -> list[UsageRecord]:
        self._unlogged.others_spent()
        reported = data.message
        if reported is None or reported.type != "assistant":
            return []
        return self._reply(line, reported.message, reported.requestId, agent_id)

    def _reply(
        self, line: _Line, message: _Message | None, request_id: str | None, agent_id: str
    ) -> list[UsageRecord]:
        self._has_begun = True
        if message is None or message.usage is None or message.model == SYNTHETIC_MODEL:
            return []
        # Logs without message ids have one line a reply.
        usage_id = message.id or request_id or line.uuid
        if not usage_id:
            return []
        agent_id = agent_id or line.agentId or self._agent_id or (SIDE_CHAIN if line.isSidechain else "")
        usage = self._record(line, usage_id, message, agent_id)
        if not any((usage.input, usage.output, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h)):
            return []
        self._unlogged.replied(usage)
        return [usage]

    def _record(self, line: _Line, usage_id: str, message: _Message | None, agent_id: str) -> UsageRecord:
        own = line.sessionId or self._session_id
        payer = line.requestSessionId or (line.forkedFrom and line.forkedFrom.sessionId) or own
        at = _in_utc(line.timestamp) if line.timestamp else None
        usage = (message and message.usage) or _NO_USAGE
        writes, details = usage.cache_creation or _NO_WRITES, usage.output_tokens_details or _NO_DETAILS
        short, long = cache_writes(
            usage.cache_creation_input_tokens,
            writes.ephemeral_5m_input_tokens,
            writes.ephemeral_1h_input_tokens,
        )
        return UsageRecord(
            usage_id=usage_id,
            session_id=payer,
            agent_id=agent_id,
            project=line.cwd or "",
            at=at,
            model=((message and message.model) or "") + (FAST_SUFFIX if usage.speed == FAST else ""),
            provider="",
            input=usage.input_tokens,
            output=usage.output_tokens,
            cache_read=usage.cache_read_input_tokens,
            cache_write_5m=short,
            cache_write_1h=long,
            reasoning=details.thinking_tokens,
            copied=payer == own and self.is_copy(at),
        )


def cache_writes(total: int | None, short: int | None, long: int | None) -> tuple[int | None, int | None]:
    """Return what was written for five minutes and for an hour; what no part names has the shorter life."""
    if total is None:
        return short, long
    unnamed = max(0, total - (short or 0) - (long or 0))
    return (short or 0) + unnamed, long


def payer_named_in(line: Mapping[str, object]) -> str:
    """Return the session that a line was copied from, where it says so; else empty."""
    return text(line, "requestSessionId") or text(mapping(line, "forkedFrom"), "sessionId")


def _in_utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _line(line: Mapping[str, object]) -> _Line:
    """Make a line of an object, where a field of another type reads as absent."""
    data, reported = mapping(line, "data"), mapping(mapping(line, "data"), "message")
    return _Line(
        type=text(line, "type"),
        subtype=text(line, "subtype"),
        uuid=text(line, "uuid"),
        sessionId=text(line, "sessionId"),
        requestSessionId=payer_named_in(line),
        agentId=text(line, "agentId"),
        isSidechain=flag(line, "isSidechain"),
        requestId=text(line, "requestId"),
        cwd=text(line, "cwd"),
        timestamp=moment(line, "timestamp"),
        message=_message_in(line),
        data=_Data(
            agentId=text(data, "agentId"),
            message=_Reported(
                type=text(reported, "type"),
                message=_message_in(reported),
                requestId=text(reported, "requestId"),
            ),
        ),
        toolUseResult=_Outcome(text(mapping(line, "toolUseResult"), "agentId")),
    )


def _message_in(line: Mapping[str, object]) -> _Message:
    message = mapping(line, "message")
    usage = mapping(message, "usage")
    writes, details = mapping(usage, "cache_creation"), mapping(usage, "output_tokens_details")
    return _Message(
        id=text(message, "id"),
        model=text(message, "model"),
        usage=_Usage(
            input_tokens=count(usage, "input_tokens"),
            output_tokens=count(usage, "output_tokens"),
            cache_read_input_tokens=count(usage, "cache_read_input_tokens"),
            cache_creation_input_tokens=count(usage, "cache_creation_input_tokens"),
            cache_creation=_CacheWrites(
                count(writes, "ephemeral_5m_input_tokens"), count(writes, "ephemeral_1h_input_tokens")
            ),
            output_tokens_details=_OutputDetails(count(details, "thinking_tokens")),
            speed=text(usage, "speed"),
        ),
    )
