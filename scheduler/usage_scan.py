"""
The tokens in the agents' logs, read now: no daemon, no store, and of known files only what is new.

What was read is kept in the home's cache; without one, or with one of another program, all is read anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.usage_record import UsageRecord
from tokeneconomizer.hosts.logs import LOGS, READING_VERSION
from tokeneconomizer.scheduler import cached
from tokeneconomizer.scheduler.usage_files import ScannedFile, key_of, read_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import LogFile

CACHE_NAME = "usage.msgpack"


class _Cache(msgspec.Struct, array_like=True):
    version: int
    files: dict[str, ScannedFile]


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
    changed = [file for file in files if not _is_known(file, known)]
    advance(len(files) - len(changed))
    readings = read_files(changed, known, advance)
    # Of agents that are not asked for now, what is known stays.
    hosts = {file.host for file in files}
    now = {key: scanned for key, scanned in known.items() if key.partition("\n")[0] not in hosts}
    found = Scan({}, 0, [])
    for file in files:
        key = key_of(file)
        if key in readings.unreadable:
            found.unreadable.append((file.path, readings.unreadable[key]))
            continue
        scanned = now[key] = readings.scanned.get(key) or known[key]
        found.usages.setdefault(file.host, []).extend(scanned.usages)
        found.usages[file.host].extend(scanned.unfinished)
        found.skipped_lines += scanned.cursor.skipped + scanned.unfinished_skipped
    if cache_folder is not None and (changed or len(now) != len(known)):
        cached.keep(cache_folder / CACHE_NAME, _Cache(READING_VERSION, now))
    return found


def _is_known(file: LogFile, known: dict[str, ScannedFile]) -> bool:
    before = known.get(key_of(file))
    return before is not None and before.mark == LOGS[file.host].mark(file)


def _load(cache_folder: Path | None) -> dict[str, ScannedFile]:
    if cache_folder is None:
        return {}
    cache = cached.load(cache_folder / CACHE_NAME, _Cache)
    return cache.files if cache is not None and cache.version == READING_VERSION else {}
