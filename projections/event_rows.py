"""
One row of the event log: as it lies, and decoded.

Folds take dicts, so that neither the event library nor an event class has to be imported to answer
`te status`. A row that cannot be read is handed on as such: one bad row never hides the others.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

Data = dict[str, object]

UPCASTS: dict[str, dict[int, Callable[[Data], Data]]] = {
    "session.context_accounted": {1: lambda data: {**data, "used_tokens": None, "window_tokens": None}},
    "microskills.fact_proposed": {
        1: lambda data: {**data, **dict.fromkeys(("purpose", "command", "instead_of", "shown"), "")}
    },
}
"""Per topic and class version: makes the next version's fields out of this one's."""

Row = tuple[int, str, int, str, bytes]
"""As it lies: position, stream id, stream version, topic, state."""

ChainedRow = tuple[int, str, int, str, bytes, bytes]
"""The same, and its link of the chain."""


class EventHead(NamedTuple):
    """
    An event whose fields nobody asked for, so that they were not decoded.

    Attributes:
        position, stream_id, stream_version, topic: as of `EventRow`.

    """

    position: int
    stream_id: str
    stream_version: int
    topic: str


class EventRow(NamedTuple):
    """
    One event.

    A named tuple, because one is made per event of a rebuild: a frozen dataclass takes three times as long.

    Attributes:
        position: its place in the log; grows, never given twice.
        stream_id: 32 hexadecimal digits.
        stream_version: its place in the stream, from 1.
        topic: what happened, as `session.tool_called`.
        class_version: of the shape of `data`, after upcasts.
        at: ISO 8601 in UTC, so that texts sort by time.
        data: the event's own fields.

    """

    position: int
    stream_id: str
    stream_version: int
    topic: str
    class_version: int
    at: str
    data: Data


class Unreadable(NamedTuple):
    """
    An event, or a stretch of the file, that cannot be read.

    Attributes:
        position: of the event, or of the stretch's last one.
        topic: empty where not even that can be read.
        error: what is wrong, in words.

    """

    position: int
    topic: str
    error: str


LogEntry = EventRow | Unreadable

FoldedRow = EventRow | EventHead
"""What a fold takes."""

# Past the class's own constructor, which takes keywords as well: a twentieth of a rebuild.
_new_row: Callable[[tuple[int, str, int, str, int, str, Data]], EventRow] = partial(tuple.__new__, EventRow)


def decoded_page(rows: Iterable[Row]) -> list[LogEntry]:
    """Decode rows, all of them, in their order."""
    unreadable: list[Unreadable] = []
    events = cast("list[LogEntry]", list(decode(rows, None, unreadable)))
    return sorted([*events, *unreadable], key=_position) if unreadable else events


def decode(
    rows: Iterable[Row], decoded: Container[str] | None, unreadable: list[Unreadable]
) -> Iterator[FoldedRow]:
    """
    Decode rows one by one, as they are asked for.

    One loop without a call for each row, which would cost as much as the decoder itself; and no event is
    kept, so that the next one finds its place in the processor's cache.

    Args:
        rows: as they lie.
        decoded: the topics whose events are decoded; None for all.
        unreadable: takes those that cannot be decoded.

    """
    upcasts_of = UPCASTS.get
    for position, stream_id, stream_version, topic, state in rows:
        if decoded is not None and topic not in decoded:
            yield EventHead(position, stream_id, stream_version, topic)
            continue
        try:
            data = orjson.loads(state)
            at = data.pop("timestamp")
            if at[-6:] != "+00:00":
                at = datetime.fromisoformat(at).astimezone(UTC).isoformat()
            if stream_version == 1:
                data.pop("originator_topic", None)
            version = data.pop("class_version", 1)
            upcasts = upcasts_of(topic)
            while upcasts and version in upcasts:
                data = upcasts[version](data)
                version += 1
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one row, the others are read
            words = f"the event cannot be read: {type(error).__name__}: {error}"
            unreadable.append(Unreadable(position, topic, words))
            continue
        yield _new_row((position, stream_id, stream_version, topic, version, at, data))


def _position(entry: LogEntry) -> int:
    return entry.position
