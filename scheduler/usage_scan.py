"""
The tokens in the agents' logs, read now: no daemon, no store, and of known files only what is new.

What was read is kept in the home's cache; without one, or with one of another program, all is read anew.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.log_format import Cursor, LogFile, Wanted
from tokeneconomizer.hosts.logs import LOGS, READING_VERSION
from tokeneconomizer.hosts.records import LoggedUsage, SkippedLine
from tokeneconomizer.writers.whole_file import make_own_folder, write_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tokeneconomizer.hosts.records import Record

CACHE_NAME = "usage.msgpack"


class _Scanned(msgspec.Struct, array_like=True):
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


class _Cache(msgspec.Struct, array_like=True):
    version: int
    files: dict[str, _Scanned]


class Scan(msgspec.Struct):
    """
    What the logs say.

    Attributes:
        usages: host -> records, repeated ones included.
        skipped_lines: how many lines are damaged.
        unreadable: path and reason of each file that could not be read.

    """

    usages: dict[str, list[UsageRecord]]
    skipped_lines: int
    unreadable: list[tuple[str, str]]


def scan(
    files: Sequence[LogFile], cache_folder: Path | None, advance: Callable[[int], None] = lambda _files: None
) -> Scan:
    """
    Read the tokens of log files.

    Args:
        files: as `hosts.logs.find` returns them.
        cache_folder: where to keep what was read; None to keep nothing.
        advance: told the number of further files done.

    """
    known = _load(cache_folder)
    found = Scan({}, 0, [])
    # Of agents that are not asked for now, what is known stays.
    hosts = {file.host for file in files}
    now = {key: scanned for key, scanned in known.items() if key.partition("\n")[0] not in hosts}
    for file in files:
        key = "\n".join(file)
        before = known.get(key)
        try:
            scanned = _scan_file(file, before)
        except OSError as error:
            found.unreadable.append((file.path, error.strerror or str(error)))
            advance(1)
            continue
        now[key] = scanned
        found.usages.setdefault(file.host, []).extend(scanned.usages)
        found.usages[file.host].extend(scanned.unfinished)
        found.skipped_lines += scanned.cursor.skipped + scanned.unfinished_skipped
        advance(1)
    if cache_folder is not None and now != known:
        _keep(cache_folder, now)
    return found


def _scan_file(file: LogFile, before: _Scanned | None) -> _Scanned:
    file_mark = LOGS[file.host].mark(file)
    if before is not None and before.mark == file_mark:
        return before
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
    return _Scanned(file_mark, cursor, usages, unfinished, unfinished_skipped)


def _usages(records: Iterable[Record]) -> list[UsageRecord]:
    return [record.usage for record in records if isinstance(record, LoggedUsage)]


def _load(cache_folder: Path | None) -> dict[str, _Scanned]:
    if cache_folder is None:
        return {}
    try:
        cache = msgspec.msgpack.decode((cache_folder / CACHE_NAME).read_bytes(), type=_Cache)
    except (OSError, msgspec.DecodeError):
        return {}
    return cache.files if cache.version == READING_VERSION else {}


def _keep(cache_folder: Path, files: dict[str, _Scanned]) -> None:
    # A home that cannot be written costs the next scan its time, and nothing else.
    with suppress(OSError):
        make_own_folder(cache_folder)
        write_cache(cache_folder / CACHE_NAME, msgspec.msgpack.encode(_Cache(READING_VERSION, files)))
