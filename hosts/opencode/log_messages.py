"""
Sessions and messages as opencode writes them, typed: all that is needed to count tokens.

Decoding into types that name few fields passes over the rest, which is most of it, without building it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import orjson

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.fields import count, mapping, number, text
from tokeneconomizer.hosts.log_recovery import objects_in

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUT_WITHOUT_REASONING_SINCE = (1, 4)
"""Up to 1.3 `output` is the provider's own count, with reasoning (seen in 1.2.20 to 1.2.24, not in 1.4.3)."""

COUNT_MAX = 2**63 - 1
"""What a database column holds; no reply has as many tokens."""


class Times(msgspec.Struct):
    """Milliseconds since 1970."""

    created: int | float | None = None
    completed: int | float | None = None


class Session(msgspec.Struct, rename={"parent_id": "parentID"}):
    """A session's own record; `parent_id` is of the session whose `task` call started it."""

    id: str = ""
    parent_id: str | None = None
    directory: str | None = None
    version: str | None = None
    time: Times = msgspec.field(default_factory=Times)


class _Cached(msgspec.Struct):
    read: int | None = None
    write: int | None = None


class _Tokens(msgspec.Struct):
    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    total: int | None = None
    cache: _Cached = msgspec.field(default_factory=_Cached)


class _Path(msgspec.Struct):
    cwd: str | None = None


class _Failure(msgspec.Struct):
    name: str | None = None


_NAMES = {
    "parent_id": "parentID",
    "session_id": "sessionID",
    "model_id": "modelID",
    "provider_id": "providerID",
}


class Message(msgspec.Struct, rename=_NAMES):
    """
    A user's message, or one reply of the model.

    Attributes:
        parent_id: of a reply: the user's message that it answers.
        summary: `true` for a reply that sums up the conversation; of a user's message it is an object.

    """

    id: str = ""
    role: str = ""
    session_id: str | None = None
    parent_id: str | None = None
    model_id: str | None = None
    provider_id: str | None = None
    agent: str | None = None
    finish: str | None = None
    summary: msgspec.Raw = msgspec.Raw()
    error: _Failure | None = None
    path: _Path | None = None
    time: Times = msgspec.field(default_factory=Times)
    tokens: _Tokens | None = None

    @property
    def is_reply(self) -> bool:
        """Whether the model wrote it."""
        return self.role == "assistant"

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will be written to it."""
        return not self.is_reply or self.time.completed is not None or self.error is not None

    @property
    def is_summary(self) -> bool:
        """Whether it replaces the conversation before it."""
        return bytes(self.summary) == b"true"

    @property
    def key(self) -> str:
        """Its id and time: recorders of sessions blank out ids, so that several have the same."""
        return f"{self.id}@{self.time.created or 0:.0f}"


_SESSION = msgspec.json.Decoder(Session)
_MESSAGE = msgspec.json.Decoder(Message)


def session_from(raw: bytes | msgspec.Raw) -> Session | None:
    """Return a session's record; None where the bytes are damaged."""
    try:
        return _SESSION.decode(_proved(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = object_from(raw)
        return None if found is None else _tolerant_session(found)


def message_from(raw: bytes | msgspec.Raw) -> Message | None:
    """Return a message; None where the bytes are damaged."""
    try:
        return _MESSAGE.decode(_proved(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = object_from(raw)
        return None if found is None else _tolerant_message(found)


def _proved(raw: bytes | msgspec.Raw) -> bytes:
    """Return bytes that are text: the decoder passes over what it does not need, whatever its bytes."""
    whole = bytes(raw)
    if not whole.isascii():
        whole.decode()
    return whole


def object_from(raw: bytes | msgspec.Raw) -> Mapping[str, object] | None:
    """Return the whole object that the bytes are, halves of characters passed over; None where damaged."""
    try:
        found = orjson.loads(bytes(raw))
    except orjson.JSONDecodeError:
        whole = objects_in(bytes(raw), lambda _: True)
        found = orjson.loads(whole.objects[0]) if whole.is_whole and whole.objects else None
    return found if isinstance(found, dict) else None


def _tolerant_session(found: Mapping[str, object]) -> Session:
    return Session(
        id=text(found, "id"),
        parent_id=text(found, "parentID"),
        directory=text(found, "directory"),
        version=text(found, "version"),
        time=_times(found),
    )


def _tolerant_message(found: Mapping[str, object]) -> Message:
    """Read field by field, as one of them is of a type that opencode never wrote so far."""
    tokens = mapping(found, "tokens")
    cache = mapping(tokens, "cache")
    error = mapping(found, "error")
    return Message(
        id=text(found, "id"),
        role=text(found, "role"),
        session_id=text(found, "sessionID"),
        parent_id=text(found, "parentID"),
        model_id=text(found, "modelID"),
        provider_id=text(found, "providerID"),
        agent=text(found, "agent"),
        finish=text(found, "finish"),
        summary=msgspec.Raw(b"true" if found.get("summary") is True else b""),
        error=_Failure(text(error, "name")) if error else None,
        path=_Path(text(mapping(found, "path"), "cwd")),
        time=_times(found),
        tokens=_Tokens(
            input=count(tokens, "input"),
            output=count(tokens, "output"),
            reasoning=count(tokens, "reasoning"),
            total=count(tokens, "total"),
            cache=_Cached(count(cache, "read"), count(cache, "write")),
        ),
    )


def _times(found: Mapping[str, object]) -> Times:
    time = mapping(found, "time")
    return Times(number(time, "created"), number(time, "completed"))


def is_copy(message: Message, session: Session) -> bool:
    """Return whether a fork took it over from another session: it is older than its own."""
    created, began = message.time.created, session.time.created
    return created is not None and began is not None and created < began


def settled(messages: list[Message | None]) -> int:
    """
    Return how many of a session's messages, from the first on, will not change any more.

    A reply is complete when it says so; one that was cut off never does, and the next reply tells. A user's
    message, and a damaged one that may be half written, are complete when another follows.
    """
    last_reply = max((at for at, one in enumerate(messages) if one and one.is_reply), default=-1)
    for at, message in enumerate(messages):
        is_last = at == len(messages) - 1
        if message is not None and message.is_reply:
            if not message.is_complete and at >= last_reply:
                return at
        elif is_last:
            return at
    return len(messages)


def usage_of(message: Message, session: Session) -> UsageRecord | None:
    """Return what a reply cost; None for what is no reply, or of which no tokens were heard."""
    tokens = message.tokens
    if not message.is_reply or tokens is None or is_copy(message, session):
        return None
    counts = [_count(one) for one in (tokens.input, tokens.output, tokens.cache.read, tokens.cache.write)]
    reasoning = _count(tokens.reasoning)
    # A reply starts with noughts, which stay where none was heard: the user stopped it, or ran a command.
    if not any(counts) and not reasoning:
        return None
    fresh, output, read, written = counts
    if output is not None and reasoning and not _is_in_output(tokens, message, session):
        output += reasoning
    return UsageRecord(
        usage_id=message.key,
        session_id=session.id or message.session_id or "",
        agent_id="",
        project=(message.path and message.path.cwd) or session.directory or "",
        at=moment(message.time.created),
        model=message.model_id or "",
        provider=message.provider_id or "",
        input=fresh,
        output=output,
        cache_read=read,
        cache_write_5m=written,
        cache_write_1h=None,
        reasoning=reasoning,
    )


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= COUNT_MAX else None


def _is_in_output(tokens: _Tokens, message: Message, session: Session) -> bool:
    """
    Return whether `output` holds the reasoning already: `total` tells, else the version.

    Google's own count never does.
    """
    parts = (tokens.input, tokens.output, tokens.cache.read, tokens.cache.write)
    without = sum(part or 0 for part in parts)
    reasoning = tokens.reasoning or 0
    if tokens.total in {without, without + reasoning}:
        return tokens.total == without
    if reasoning > (tokens.output or 0) or (message.provider_id or "").startswith("google"):
        return False
    return _version_of(session) < OUTPUT_WITHOUT_REASONING_SINCE


def _version_of(session: Session) -> tuple[int, ...]:
    """Return major and minor; where they are not told, those of today."""
    major_minor = (session.version or "").split(".")[:2]
    if len(major_minor) == 2 and all(part.isascii() and part.isdecimal() for part in major_minor):  # noqa: PLR2004 - major and minor
        return tuple(int(part[:9]) for part in major_minor)
    return OUTPUT_WITHOUT_REASONING_SINCE


def moment(milliseconds: float | None) -> datetime | None:
    """Return a time as opencode writes it; None where it is none."""
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
