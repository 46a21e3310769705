"""Logs of one JSON object a line: read from where the last reading ended; damage loses only itself."""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import orjson

from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.log_recovery import objects_in
from tokeneconomizer.hosts.records import LoggedUsage, SkippedLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokeneconomizer.hosts.log_format import LineReader, State
    from tokeneconomizer.hosts.records import Record

BLOCK_BYTES = 8_388_608
"""Bounds memory; at some 500 MB/s a block takes 16 ms, so what it costs to begin one does not show."""

LINE_BYTES_MAX = 67_108_864
"""The longest lines seen hold a picture of some MB; beyond this a line is passed over unread."""

TAIL_BYTES = 4_096
"""As much as a file system reads at once; a log's last lines hold times and random ids."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _AnyObject(msgspec.Struct):
    """Decoding into no field only proves that a line is one whole object."""


_PROOF = msgspec.json.Decoder(_AnyObject)


def read_lines(
    path: str, make_reader: Callable[[State], LineReader], cursor: Cursor | None, wanted: Wanted
) -> Iterator[Batch]:
    """Yield the batches of a file; see `hosts.log_format.LogFormat.read`."""
    if cursor is not None and _is_untouched(Path(path).stat(), cursor):
        yield Batch([], cursor)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            message = f"{path} is no regular file"
            raise OSError(message)
        restarted = cursor is not None and not _continues(descriptor, found, cursor)
        if cursor is None or restarted:
            cursor = Cursor(found.st_ino, 0, 0, 0, 0, 0, "", {})
        yield from _Reading(descriptor, found, cursor, make_reader, wanted).batches(restarted=restarted)
    finally:
        os.close(descriptor)


def _is_untouched(found: os.stat_result, cursor: Cursor) -> bool:
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_size) == (
        cursor.inode,
        cursor.size,
        cursor.modified_ns,
        cursor.offset,
    )


def _continues(descriptor: int, found: os.stat_result, cursor: Cursor) -> bool:
    """Return whether the file still is what was read, with or without more behind it."""
    return (
        found.st_ino == cursor.inode
        and found.st_size >= cursor.offset
        and _tail(descriptor, cursor.offset) == cursor.tail
    )


def _tail(descriptor: int, offset: int) -> str:
    size = min(offset, TAIL_BYTES)
    return blake2b(os.pread(descriptor, size, offset - size), digest_size=16).hexdigest()


class _Reading:
    """One pass over a file, from a cursor on."""

    def __init__(
        self,
        descriptor: int,
        found: os.stat_result,
        cursor: Cursor,
        make_reader: Callable[[State], LineReader],
        wanted: Wanted,
    ) -> None:
        self._descriptor = descriptor
        self._found = found
        self._make_reader = make_reader
        self._wanted = wanted
        self._lines = _Lines(make_reader(cursor.state), wanted, cursor.lines, cursor.skipped)
        self._offset = cursor.offset

    def batches(self, *, restarted: bool) -> Iterator[Batch]:
        rest, is_too_long, position = b"", False, self._offset
        while block := os.pread(self._descriptor, BLOCK_BYTES, position):
            position += len(block)
            lines = block.split(b"\n")
            last = lines.pop()
            if not lines:
                is_too_long = is_too_long or len(rest) + len(last) > LINE_BYTES_MAX
                rest = b"" if is_too_long else rest + last
                continue
            if is_too_long:
                records = self._lines.pass_over() + self._lines.take(lines[1:])
            else:
                lines[0] = rest + lines[0]
                records = self._lines.take(lines)
            rest, is_too_long = last, False
            self._offset = position - len(rest)
            yield Batch(records, self._cursor(), restarted)
            restarted = False
        unfinished = self._unfinished(rest, is_too_long=is_too_long)
        yield Batch([], self._cursor(), restarted, unfinished)

    def _unfinished(self, rest: bytes, *, is_too_long: bool) -> list[Record]:
        """Read a last line without its end by a reader of its own: it comes again when it is whole."""
        if not rest and not is_too_long:
            return []
        reader = self._make_reader(self._lines.reader.state())
        lines = _Lines(reader, self._wanted, self._lines.number, self._lines.skipped)
        return lines.pass_over() if is_too_long else lines.take([rest])

    def _cursor(self) -> Cursor:
        return Cursor(
            self._found.st_ino,
            self._found.st_size,
            self._found.st_mtime_ns,
            self._offset,
            self._lines.number,
            self._lines.skipped,
            _tail(self._descriptor, self._offset),
            self._lines.reader.state(),
        )


class _Lines:
    """Counts lines, and turns each into records."""

    def __init__(self, reader: LineReader, wanted: Wanted, number: int, skipped: int) -> None:
        self.reader = reader
        self.number = number
        self.skipped = skipped
        self._take = self._usage_of if wanted is Wanted.USAGE else self._all_of

    def take(self, lines: list[bytes]) -> list[Record]:
        records: list[Record] = []
        for raw in lines:
            self.number += 1
            if not raw:
                continue
            try:
                records += self._take(raw)
            except (msgspec.DecodeError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError):
                records += self._damaged(raw)
        return records

    def pass_over(self) -> list[Record]:
        self.number += 1
        self.skipped += 1
        return [SkippedLine(self.number)]

    def _usage_of(self, raw: bytes) -> list[Record]:
        for marker in self.reader.USAGE_MARKERS:
            if marker in raw:
                # The decoder passes over texts that it does not need, whatever their bytes.
                if not raw.isascii():
                    raw.decode()
                usages = self.reader.usage(raw)
                return [LoggedUsage(self.number, usage) for usage in usages] if usages else []
        _PROOF.decode(raw)
        return []

    def _all_of(self, raw: bytes) -> list[Record]:
        records = self._usage_of(raw)
        if any(marker in raw for marker in self.reader.RECORD_MARKERS):
            records += self.reader.records(self.number, orjson.loads(raw))
        return records

    def _damaged(self, raw: bytes) -> list[Record]:
        """Return the records of the whole objects that a damaged line holds."""
        if not raw.strip() or (self.number == 1 and raw == BYTE_ORDER_MARK):
            return []
        found = objects_in(raw.removeprefix(BYTE_ORDER_MARK), self.reader.is_record)
        records: list[Record] = []
        for whole in found.objects:
            try:
                records += self._take(whole)
            except (msgspec.DecodeError, orjson.JSONDecodeError, RecursionError):
                continue
        if found.is_whole:
            return records
        self.skipped += 1
        return [SkippedLine(self.number, len(found.objects)), *records]
