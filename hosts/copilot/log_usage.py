"""Tokens in Copilot CLI's events, decoded by their types: everything else in a line is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from tokeneconomizer.hosts.fields import count, mapping, text
from tokeneconomizer.hosts.typed_lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Mapping

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Tokens(msgspec.Struct, frozen=True, rename="camel"):
    """As Copilot counts them: `input_tokens` includes all cached ones, `output_tokens` reasoning."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None

    @property
    def uncached_input(self) -> int | None:
        """Input tokens that were neither read from nor written to the cache."""
        if self.input_tokens is None:
            return None
        return max(0, self.input_tokens - (self.cache_read_tokens or 0) - (self.cache_write_tokens or 0))


class Accounting(msgspec.Struct, frozen=True, rename="camel"):
    """Which session paid for a reply."""

    source_session_id: str = ""


class Reply(Tokens, frozen=True, rename="camel"):
    """What `session.usage_record` tells of one model reply."""

    model: str = ""
    model_provider: str = ""
    parent_tool_call_id: str = ""
    accounting: Accounting | None = None


class Metric(msgspec.Struct, frozen=True):
    """What `session.shutdown` tells of one model."""

    usage: Tokens | None = None


class Context(msgspec.Struct, frozen=True):
    """Where the agent works."""

    cwd: str = ""


class Data(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of an event that tokens need; `cwd` is that of `session.context_changed`."""

    session_id: str = ""
    cwd: str = ""
    context: Context | None = None
    usage: Reply | None = None
    model_metrics: dict[str, Metric] | None = None


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """One line."""

    type: str = ""
    id: str = ""
    timestamp: str = ""
    agent_id: str = ""
    data: Data = Data()


_DECODER = msgspec.json.Decoder(Event)


def decode(raw: bytes) -> Event:
    """Return a line; a field of an unexpected type reads as absent. Raises as `decode_line`."""
    return decode_line(_DECODER, raw, _event)


def _event(line: Mapping[str, object]) -> Event:
    data = mapping(line, "data")
    metrics = mapping(data, "modelMetrics")
    return Event(
        type=text(line, "type"),
        id=text(line, "id"),
        timestamp=text(line, "timestamp"),
        agent_id=text(line, "agentId"),
        data=Data(
            session_id=text(data, "sessionId"),
            cwd=text(data, "cwd"),
            context=Context(text(mapping(data, "context"), "cwd")),
            usage=_reply(mapping(data, "usage")),
            model_metrics={
                model: Metric(_tokens(mapping(mapping(metrics, model), "usage"))) for model in metrics
            },
        ),
    )


def _tokens(usage: Mapping[str, object]) -> Tokens | None:
    counts = [count(usage, name) for name in Tokens.__struct_encode_fields__]
    return Tokens(*counts) if usage else None


def _reply(usage: Mapping[str, object]) -> Reply | None:
    if not usage:
        return None
    return Reply(
        **{
            field: count(usage, name)
            for field, name in zip(Tokens.__struct_fields__, Tokens.__struct_encode_fields__, strict=True)
        },
        model=text(usage, "model"),
        model_provider=text(usage, "modelProvider"),
        parent_tool_call_id=text(usage, "parentToolCallId"),
        accounting=Accounting(text(mapping(usage, "accounting"), "sourceSessionId")),
    )
