"""
An `opencode export` document: one session as one JSON value, in whatever layout.

It is written whole, so that one that changed is another. One without its end may still be being written.
`line` is the file's own line on which the message, or for calls its part, begins.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.hosts.fields import text
from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.log_recovery import objects_in
from tokeneconomizer.hosts.opencode.log_messages import (
    Message,
    Session,
    is_copy,
    message_from,
    object_from,
    session_from,
)
from tokeneconomizer.hosts.opencode.log_records import Part, SessionReader
from tokeneconomizer.hosts.records import SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.hosts.records import Record

DOCUMENT_BYTES_MAX = 536_870_912
"""It must be held whole; the longest seen has 3 MB."""

COMPARED_BYTES = 256
"""Finds a value again, as it follows the one before: enough to pass over what stands before the first."""

_LONE_HALF = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""An escaped half of a character; two that belong together are matched first, and stay."""

_PLACEHOLDER = rb"\ufffd"


class _Document(msgspec.Struct):
    info: msgspec.Raw = msgspec.Raw(b"{}")
    messages: list[msgspec.Raw] = msgspec.field(default_factory=list)


class _Head(msgspec.Struct):
    info: msgspec.Raw = msgspec.Raw(b"{}")


class _Body(msgspec.Struct):
    parts: list[msgspec.Raw] = msgspec.field(default_factory=list)


_DOCUMENT = msgspec.json.Decoder(_Document)
_HEAD = msgspec.json.Decoder(_Head)
_BODY = msgspec.json.Decoder(_Body)


@dataclass(slots=True)
class _Entry:
    """A message: its line, what it says of itself, and the bytes that hold its parts."""

    line: int
    message: Message | None
    whole: bytes | msgspec.Raw


@dataclass(slots=True)
class _Contents:
    """What a document holds; `is_damaged` when some of it is lost."""

    session: Session
    entries: list[_Entry]
    is_damaged: bool = False


def read(path: str, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield the records of a document; see `hosts.log_format.LogFormat.read`."""
    found = Path(path).stat()
    if cursor is not None and (found.st_ino, found.st_size, found.st_mtime_ns, found.st_size) == (
        cursor.inode,
        cursor.size,
        cursor.modified_ns,
        cursor.offset,
    ):
        yield Batch([], cursor)
        return
    if not stat.S_ISREG(found.st_mode) or found.st_size > DOCUMENT_BYTES_MAX:
        message = (
            f"{path} is no regular file, or larger than {DOCUMENT_BYTES_MAX} bytes: export fewer messages"
        )
        raise OSError(message)
    data = Path(path).read_bytes()
    records = _records(_contents(data), wanted) if data.strip() else []
    is_ended = data.rstrip().endswith(b"}")
    skipped = sum(isinstance(record, SkippedLine) for record in records) if is_ended else 0
    size = len(data) if is_ended else 0
    after = Cursor(found.st_ino, found.st_size, found.st_mtime_ns, size, data.count(b"\n"), skipped, "", {})
    restarted = cursor is not None and cursor.offset > 0
    yield Batch(records if is_ended else [], after, restarted, [] if is_ended else records)


def _records(contents: _Contents, wanted: Wanted) -> list[Record]:
    session = contents.session
    messages = [entry.message for entry in contents.entries]
    whole = [message for message in messages if message is not None]
    session.id = session.id or next((one.session_id for one in whole if one.session_id), "")
    records: list[Record] = [SkippedLine(1, len(messages))] if contents.is_damaged else []
    if session.id:
        by_id = {entry.message.id: entry for entry in contents.entries if entry.message is not None}
        reader = SessionReader(
            session, wanted, lambda message_id: _parts(by_id[message_id]) if message_id in by_id else []
        )
        records.append(reader.header(1, messages, has_copies=any(is_copy(one, session) for one in whole)))
        for entry in contents.entries:
            records += reader.records(entry.line, entry.message, partial(_parts, entry))
    return records


def _parts(entry: _Entry) -> list[Part]:
    whole = bytes(entry.whole)
    try:
        body = _BODY.decode(whole)
    except (msgspec.DecodeError, RecursionError):
        return []
    lines = _Lines(whole, entry.line)
    return [Part(lines.of(part), object_from(part)) for part in body.parts]


def _contents(data: bytes) -> _Contents:
    try:
        return _whole(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _whole(_LONE_HALF.sub(lambda match: match[1] + (match[2] or _PLACEHOLDER), data))
    except (msgspec.DecodeError, RecursionError):
        return _recovered(data)


def _whole(data: bytes) -> _Contents:
    document = _DOCUMENT.decode(data)
    lines = _Lines(data)
    return _Contents(
        session_from(document.info) or Session(),
        [_entry(lines.of(raw), raw) for raw in document.messages],
    )


def _entry(line: int, raw: bytes | msgspec.Raw) -> _Entry:
    try:
        message = message_from(_HEAD.decode(raw).info)
    except (msgspec.DecodeError, RecursionError):
        message = None
    return _Entry(line, message, raw)


class _Lines:
    """Tells the line on which each value begins; asked for them in their order."""

    def __init__(self, data: bytes, first_line: int = 1) -> None:
        self._data = data
        self._position = 0
        self._line = first_line

    def of(self, raw: msgspec.Raw) -> int:
        """Return the line of the next value, which begins with these bytes."""
        whole = memoryview(raw)
        start = self._data.find(whole[:COMPARED_BYTES], self._position)
        self._line += self._data.count(b"\n", self._position, start)
        self._position = start + len(whole)
        line, self._line = self._line, self._line + self._data.count(b"\n", start, self._position)
        return line


def _recovered(data: bytes) -> _Contents:
    """Return the whole messages of a damaged document, and what it still says of the session."""
    characters = data.decode("utf-8", "replace")
    found = objects_in(data, _is_record)
    session, entries, line, position = Session(), list[_Entry](), 1, 0
    for raw, start in zip(found.objects, found.starts, strict=True):
        line += characters.count("\n", position, start)
        position = start
        values = object_from(raw) or {}
        if "parts" in values:
            entries.append(_entry(line, raw))
        elif text(values, "role"):
            entries.append(_Entry(line, message_from(raw), b"{}"))
        else:
            session = session_from(raw) or session
    return _Contents(session, entries, is_damaged=True)


def _is_record(found: Mapping[str, object]) -> bool:
    """Return whether it is a message, what a damaged message says of itself, or the session's record."""
    if "info" in found and "parts" in found:
        return True
    return bool(text(found, "id") and isinstance(found.get("time"), dict)) and bool(
        text(found, "role") or text(found, "directory")
    )
