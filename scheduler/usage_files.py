"""Reads the tokens of log files, in several processes where there is much to read."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.log_format import Cursor, LogFile, Wanted
from tokeneconomizer.hosts.logs import LOGS
from tokeneconomizer.hosts.records import LoggedUsage, SkippedLine
from tokeneconomizer.scheduler.forked import forked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokeneconomizer.hosts.records import Record

SHARE_BYTES_MIN = 4_000_000
"""Some 15 ms of reading; a fork and handing over what it read take a few."""

PROCESSES_MAX = 4
"""Enough that the disk or the summing up is what takes longest, and the rest of the machine stays free."""


class ScannedFile(msgspec.Struct, array_like=True):
    """
    What is known of one file.

    Attributes:
        mark: of the file when it was read.
        usages: of its whole lines.
        unfinished: of a last line without its end, with how many damaged lines it holds.

    """

    mark: str
    cursor: Cursor
    usages: list[UsageRecord]
    unfinished: list[UsageRecord]
    unfinished_skipped: int


class Readings(msgspec.Struct, array_like=True):
    """What was read of files, and for the others why not; by `key_of`."""

    scanned: dict[str, ScannedFile] = {}
    unreadable: dict[str, str] = {}


def key_of(file: LogFile) -> str:
    """Return a name of a file that no other has."""
    return "\n".join(file)


def read_files(
    files: Sequence[LogFile], known: Mapping[str, ScannedFile], advance: Callable[[int], None]
) -> Readings:
    """
    Read what is new in files.

    Args:
        files: each once.
        known: what was read of them before.
        advance: told the number of further files done.

    """
    own, *others = _shares(files, known)
    with ExitStack() as forks:
        results = [(share, forks.enter_context(forked(_work_of(share, known)))) for share in others]
        found = _read(own, known, advance)
        for share, result in results:
            encoded = result()
            part = _DECODER.decode(encoded) if encoded else _read(share, known, lambda _files: None)
            found.scanned.update(part.scanned)
            found.unreadable.update(part.unreadable)
            advance(len(share))
    return found


_DECODER = msgspec.msgpack.Decoder(Readings)


def _shares(files: Sequence[LogFile], known: Mapping[str, ScannedFile]) -> list[Sequence[LogFile]]:
    sizes = {file: _new_bytes(file, known) for file in files}
    processes = min(PROCESSES_MAX, os.cpu_count() or 1, sum(sizes.values()) // SHARE_BYTES_MIN)
    # A fork has none of the other threads, such as that of a progress bar, but all the locks that they hold.
    if processes < 2 or threading.active_count() > 1:  # noqa: PLR2004 - one process does it as well
        return [files]
    ordered = sorted(files, key=sizes.__getitem__)
    return [ordered[number::processes] for number in range(processes)]


def _new_bytes(file: LogFile, known: Mapping[str, ScannedFile]) -> int:
    before = known.get(key_of(file))
    try:
        size = os.stat(file.path).st_size  # noqa: PTH116 - thousands of files: pathlib takes twice as long
    except OSError:
        return 0
    return max(0, size - before.cursor.offset) if before else size


def _work_of(files: Sequence[LogFile], known: Mapping[str, ScannedFile]) -> Callable[[], bytes]:
    return lambda: msgspec.msgpack.encode(_read(files, known, lambda _files: None))


def _read(
    files: Sequence[LogFile], known: Mapping[str, ScannedFile], advance: Callable[[int], None]
) -> Readings:
    found = Readings()
    for file in files:
        key = key_of(file)
        try:
            found.scanned[key] = _read_file(file, known.get(key))
        except OSError as error:
            found.unreadable[key] = error.strerror or str(error)
        advance(1)
    return found


def _read_file(file: LogFile, before: ScannedFile | None) -> ScannedFile:
    mark = LOGS[file.host].mark(file)
    usages = list(before.usages) if before else []
    cursor, unfinished = (before.cursor if before else None), list[UsageRecord]()
    unfinished_skipped = 0
    for batch in LOGS[file.host].read(file, cursor, Wanted.USAGE):
        if batch.restarted:
            usages = []
        usages += _usages(batch.records)
        unfinished = _usages(batch.unfinished)
        unfinished_skipped = sum(isinstance(record, SkippedLine) for record in batch.unfinished)
        cursor = batch.cursor
    if cursor is None:
        message = "its reader gave no batch"
        raise OSError(message)
    return ScannedFile(mark, cursor, usages, unfinished, unfinished_skipped)


def _usages(records: Iterable[Record]) -> list[UsageRecord]:
    return [record.usage for record in records if isinstance(record, LoggedUsage)]
