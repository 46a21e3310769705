"""
Tokens in rollouts.

Since 0.164 each reply has a record of its own, known by thread and reply. Before, events tell cumulative
counts after each reply, and again at other occasions: what a reply took is the difference, a repeat is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import orjson

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.codex.log_thread import TURN_STARTS
from tokeneconomizer.hosts.fields import count, mapping, text, time_of
from tokeneconomizer.hosts.typed_lines import decode_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.codex.log_state import RolloutState
    from tokeneconomizer.hosts.codex.log_thread import Thread

USAGE_MARKERS: tuple[bytes, ...] = (b'"payload"',)
"""Stands early in each line: decoding all of them takes half the time of searching them for what matters."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Tokens(msgspec.Struct, frozen=True):
    """As Codex counts tokens: `input_tokens` with cached ones, `output_tokens` with reasoning."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    reasoning_output_tokens: Count | None = None

    @property
    def is_told(self) -> bool:
        """Whether the counts that every version writes are there."""
        return self.input_tokens is not None and self.output_tokens is not None


class Info(msgspec.Struct, frozen=True):
    """The counts of a `token_count` event."""

    total_token_usage: Tokens | None = None
    last_token_usage: Tokens | None = None


class Payload(msgspec.Struct, frozen=True):
    """The parts of a line that tell tokens, and whose they are."""

    type: str | None = None
    id: str | None = None
    turn_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    thread_id: str | None = None
    session_id: str | None = None
    response_id: str | None = None
    usage: Tokens | None = None
    info: Info | None = None


class Line(msgspec.Struct, frozen=True):
    """One line of a rollout."""

    type: str = ""
    timestamp: str = ""
    ordinal: Count | None = None
    payload: Payload | None = None


_DECODER = msgspec.json.Decoder(Line)
_NOTHING = Payload()


def decode(raw: bytes) -> Line:
    """Return a line; a field of an unexpected type reads as absent. Raises as `decode_line`."""
    return decode_line(_DECODER, raw, _line)


def _line(line: Mapping[str, object]) -> Line:
    payload = mapping(line, "payload")
    info = mapping(payload, "info")
    total, last = mapping(info, "total_token_usage"), mapping(info, "last_token_usage")
    return Line(
        text(line, "type"),
        text(line, "timestamp"),
        count(line, "ordinal"),
        Payload(
            type=text(payload, "type"),
            id=text(payload, "id"),
            turn_id=text(payload, "turn_id"),
            model=text(payload, "model"),
            cwd=text(payload, "cwd"),
            thread_id=text(payload, "thread_id"),
            session_id=text(payload, "session_id"),
            response_id=text(payload, "response_id"),
            usage=_tokens(mapping(payload, "usage")),
            info=Info(_tokens(total), _tokens(last)),
        ),
    )


def _tokens(told: Mapping[str, object]) -> Tokens | None:
    return Tokens(*(count(told, name) for name in Tokens.__struct_fields__)) if told else None


class UsageReader:
    """Folds the lines of one file that tell tokens, or what they need."""

    def __init__(self, state: RolloutState, thread: Thread) -> None:
        self._state = state
        self._thread = thread

    def read(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens of a line."""
        line = decode(raw)
        if line.type == "response_item" and not self._state.is_copy:
            return []
        payload = line.payload or _NOTHING
        if line.type == "session_meta":
            # A header holds long instructions, and is repeated with each change of its branch.
            if not self._state.is_open or payload.id != self._state.thread_id:
                self._thread.open(mapping(orjson.loads(raw), "payload"), line.timestamp)
            return []
        at = time_of(line.timestamp)
        starts_turn = line.type == "turn_context" or payload.type in TURN_STARTS
        self._thread.take((starts_turn and payload.turn_id) or "", line.ordinal, at)
        if starts_turn:
            self._start_turn(payload)
        elif line.type == "token_usage_record":
            return self._of_reply(payload, at)
        elif payload.type == "token_count":
            return self._of_counts(payload.info or Info(), at)
        return []

    def _start_turn(self, payload: Payload) -> None:
        state = self._state
        state.model = payload.model or state.model
        if not state.is_copy:
            state.turn_id = payload.turn_id or state.turn_id
            state.folder = payload.cwd or state.folder

    def _of_reply(self, payload: Payload, at: datetime | None) -> list[UsageRecord]:
        state = self._state
        thread_id = payload.thread_id or state.thread_id
        if payload.usage is None or (state.thread_id and thread_id != state.thread_id):
            return []
        state.thread_id = thread_id
        state.session_id = state.session_id or payload.session_id or ""
        state.has_usage_records, state.is_copy = True, False
        reply = payload.response_id or (at.isoformat() if at else "")
        return [self._record(f"{thread_id}:{reply}", payload.usage, at)]

    def _of_counts(self, info: Info, at: datetime | None) -> list[UsageRecord]:
        state, total = self._state, info.total_token_usage
        if total is None or not total.is_told:
            return []
        before = _total_of(state.totals)
        state.totals = _texts_of(total)
        if state.is_copy or state.has_usage_records or (before and _is_repeat(total, before)):
            return []
        spent = _difference(total, before) if before else None
        if before and not spent:
            state.restarts += 1
        # A fork's first counts contain its parent's.
        spent = spent or info.last_token_usage or total
        usage_id = f"{state.thread_id}:{state.restarts}:{'/'.join(state.totals)}"
        return [self._record(usage_id, spent, at)] if spent.is_told else []

    def _record(self, usage_id: str, spent: Tokens, at: datetime | None) -> UsageRecord:
        state = self._state
        return UsageRecord(
            usage_id=usage_id,
            session_id=state.session_id or state.thread_id,
            agent_id=state.agent_id,
            project=state.folder,
            at=at,
            model=state.model,
            provider=state.provider,
            input=_uncached(spent),
            output=spent.output_tokens,
            cache_read=spent.cached_input_tokens,
            cache_write_5m=spent.cache_write_input_tokens,
            cache_write_1h=None,
            reasoning=spent.reasoning_output_tokens,
        )


def _uncached(spent: Tokens) -> int | None:
    if spent.input_tokens is None:
        return None
    cached = (spent.cached_input_tokens or 0) + (spent.cache_write_input_tokens or 0)
    return max(0, spent.input_tokens - cached)


def _texts_of(total: Tokens) -> list[str]:
    return ["" if value is None else str(value) for value in msgspec.structs.astuple(total)]


def _total_of(texts: list[str]) -> Tokens | None:
    return Tokens(*(int(value) if value else None for value in texts)) if texts else None


def _is_repeat(total: Tokens, before: Tokens) -> bool:
    return (total.input_tokens, total.output_tokens) == (before.input_tokens, before.output_tokens)


def _difference(total: Tokens, before: Tokens) -> Tokens | None:
    """Return what was added, None where a count is lower than before: they began anew."""
    pairs = zip(msgspec.structs.astuple(total), msgspec.structs.astuple(before), strict=True)
    added = [None if now is None or then is None else now - then for now, then in pairs]
    return None if any(value is not None and value < 0 for value in added) else Tokens(*added)
