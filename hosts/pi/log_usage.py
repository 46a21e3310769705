"""Tokens in Pi's entries, decoded by their types: everything else in a line is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from tokeneconomizer.hosts.fields import count, mapping, text
from tokeneconomizer.hosts.typed_lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Mapping

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """As Pi counts tokens: `input` is without cached ones, `output` with reasoning."""

    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None
    reasoning: Count | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted: Pi starts a reply with zeros, and leaves them when it fails."""
        return not (self.input or self.output or self.cache_read or self.cache_write)


class Message(msgspec.Struct, frozen=True):
    """The part of a `message` entry that tells tokens."""

    role: str = ""
    model: str = ""
    provider: str = ""
    usage: Usage | None = None


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """One line: the header of a file, or an entry of its session."""

    type: str = ""
    id: str = ""
    timestamp: str = ""
    cwd: str = ""
    parent_session: str = ""
    model: str = ""
    model_id: str = ""
    provider: str = ""
    usage: Usage | None = None
    message: Message | None = None


_DECODER = msgspec.json.Decoder(Entry)


def decode(raw: bytes) -> Entry:
    """Return a line; a field of an unexpected type reads as absent. Raises as `decode_line`."""
    return decode_line(_DECODER, raw, _entry)


def _entry(line: Mapping[str, object]) -> Entry:
    message = mapping(line, "message")
    return Entry(
        type=text(line, "type"),
        id=text(line, "id"),
        timestamp=text(line, "timestamp"),
        cwd=text(line, "cwd"),
        parent_session=text(line, "parentSession"),
        model=text(line, "model"),
        model_id=text(line, "modelId"),
        provider=text(line, "provider"),
        usage=_usage(mapping(line, "usage")),
        message=Message(
            text(message, "role"),
            text(message, "model"),
            text(message, "provider"),
            _usage(mapping(message, "usage")),
        ),
    )


def _usage(told: Mapping[str, object]) -> Usage | None:
    return Usage(*(count(told, name) for name in Usage.__struct_encode_fields__)) if told else None
