"""
opencode's older store (before 1.2): one file a session, one a message, one a part.

`session/<project>/<id>.json`, `message/<session>/<id>.json`, `part/<message>/<id>.json`. The messages of one
session are one log; ids ascend in time, and files are written anew in their place until their message is
complete. `line` is 1 for the session's own file, n + 1 for its n-th message, as in an export.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_files import mark_of
from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.opencode.log_messages import (
    Message,
    Session,
    is_copy,
    message_from,
    object_from,
    session_from,
    settled,
)
from tokeneconomizer.hosts.opencode.log_records import Part, SessionReader
from tokeneconomizer.hosts.records import SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.records import Record

BATCH_MESSAGES = 500
"""Bounds memory; with outputs of up to 50 KB a batch has mostly a few MB."""

FILE_BYTES_MAX = 67_108_864
"""The longest parts hold a picture of some MB; a file beyond this is passed over unread."""

_SUFFIX = ".json"


def sessions(storage: Path) -> list[str]:
    """
    Return the path of each session's own file, and of the messages' folder where that file is gone.

    Sessions without messages say nothing.
    """
    own = {}
    for project in _names(f"{storage}/session"):
        folder = f"{storage}/session/{project}"
        own.update({name: f"{folder}/{name}" for name in _names(folder)})
    with_messages = _names(f"{storage}/message")
    return [own.get(name + _SUFFIX) or f"{storage}/message/{name}" for name in with_messages]


def is_session(path: Path) -> bool:
    """Return whether a path is one that `sessions` could return."""
    if path.is_dir():
        return path.parent.name == "message"
    return (
        path.suffix == _SUFFIX
        and path.parent.parent.name == "session"
        and Path(_Places(path).messages).is_dir()
    )


def session_id_of(path: str) -> str:
    """Return the id of the session at such a path."""
    return _stem(os.path.basename(path))  # noqa: PTH119 - thousands


def mark(path: str) -> str:
    """
    Return what differs whenever the agent wrote; see `hosts.log_format.LogFormat.mark`.

    A new message changes the folder; of the messages in it only the last is still written anew.
    """
    places = _Places(Path(path))
    last = max(_names(places.messages), default="")
    return f"{mark_of(places.messages)} {mark_of(f'{places.messages}/{last}')} {mark_of(path)}"


def read(path: str, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new; see `hosts.log_format.LogFormat.read`."""
    yield from _Reading(Path(path), cursor, wanted).batches()


class _Places:
    """Where the files of one session are; as texts, for there are thousands."""

    def __init__(self, path: Path) -> None:
        is_folder = path.parent.name == "message"
        storage = path.parent.parent if is_folder else path.parent.parent.parent
        self.own = "" if is_folder else str(path)
        self.messages = str(path if is_folder else storage / "message" / _stem(path.name))
        self.parts = f"{storage}/part"


class _Reading:
    """One pass over the messages of a session, from a cursor on."""

    def __init__(self, path: Path, cursor: Cursor | None, wanted: Wanted) -> None:
        self._places = _Places(path)
        self._found = Path(self._places.messages).stat()
        self._lines = cursor.lines if cursor else 0
        self._skipped = cursor.skipped if cursor else 0
        self._last = str(cursor.state.get("last", "")) if cursor else ""
        session = session_from(_bytes_of(self._places.own)) if self._places.own else None
        self._session = session or Session()
        self._session.id = self._session.id or _stem(path.name)
        self._reader = SessionReader(self._session, wanted, self._parts)

    def batches(self) -> Iterator[Batch]:
        every = [name for name in _names(self._places.messages) if name.endswith(_SUFFIX)]
        new = [name for name in every if name > self._last]
        messages = [self._message(name) for name in new]
        whole = settled(messages)
        while True:
            size = min(whole, BATCH_MESSAGES)
            records = self._records(every, new[:size], messages[:size])
            self._skipped += sum(isinstance(record, SkippedLine) for record in records)
            self._lines += size
            self._last = new[size - 1] if size else self._last
            new, messages, whole = new[size:], messages[size:], whole - size
            if not whole:
                break
            yield Batch(records, self._cursor())
        yield Batch(records, self._cursor(), unfinished=self._records(every, new, messages))

    def _records(self, every: list[str], names: list[str], messages: list[Message | None]) -> list[Record]:
        if not messages:
            return []
        first = self._message(every[0])
        has_copies = first is not None and is_copy(first, self._session)
        records: list[Record] = [self._reader.header(1, messages, has_copies=has_copies)]
        for line, (name, message) in enumerate(zip(names, messages, strict=True), self._lines + 2):
            records += self._reader.records(line, message, partial(self._parts, _stem(name), line))
        return records

    def _message(self, name: str) -> Message | None:
        message = message_from(_bytes_of(f"{self._places.messages}/{name}"))
        if message is not None:
            message.id = message.id or _stem(name)
        return message

    def _parts(self, message_id: str, line: int = 1) -> list[Part]:
        folder = f"{self._places.parts}/{message_id}"
        names = [name for name in _names(folder) if name.endswith(_SUFFIX)]
        return [Part(line, object_from(_bytes_of(f"{folder}/{name}"))) for name in names]

    def _cursor(self) -> Cursor:
        return Cursor(
            self._found.st_ino,
            self._found.st_size,
            self._found.st_mtime_ns,
            0,
            self._lines,
            self._skipped,
            "",
            {"last": self._last},
        )


def _stem(name: str) -> str:
    return name.removesuffix(_SUFFIX)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - thousands of names, no paths needed
    except OSError:
        return []


def _bytes_of(path: str) -> bytes:
    """Return a file's bytes; none where it cannot be read, or is too long."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(descriptor).st_size
        return os.read(descriptor, size + 1) if size <= FILE_BYTES_MAX else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
