"""
The ledger of the agents' logs as JSON: made anew, or as it was made before where no log has changed since.

What reads logs and sums up is imported only when it is needed: a kept ledger is printed in less time than
that takes.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts.logs import LOGS, READING_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import LogFile

KEPT_NAME = "usage-report.json"

REPORT_VERSION = 2
"""Raised whenever the same tokens are reported in another form."""


class Ledger(NamedTuple):
    """
    The ledger of some log files.

    Attributes:
        text: a `usage_report.Report` as JSON.
        unreadable: path and reason of each file that could not be read.

    """

    text: bytes
    unreadable: list[tuple[str, str]]


def ledger(
    files: Sequence[LogFile],
    timezone: str | None,
    cache_folder: Path | None,
    advance: Callable[[int], None] = lambda _files: None,
) -> Ledger:
    """
    Return the ledger of log files.

    Args:
        files: as `hosts.logs.find` returns them.
        timezone: its name decides where a day begins; None for the system's own.
        cache_folder: where to keep the ledger and what was read, if anywhere.
        advance: told the number of further files done.

    Raises:
        TokeneconomizerError: when there is no such time zone.

    """
    key = _key(files, timezone)
    kept = _kept(cache_folder, key)
    if kept is not None:
        return Ledger(kept, [])
    import orjson  # noqa: PLC0415 - see the module's docstring

    from tokeneconomizer.scheduler.usage_report import report  # noqa: PLC0415
    from tokeneconomizer.writers.whole_file import write_cache  # noqa: PLC0415

    made, unreadable = report(files, _zone(timezone), cache_folder, advance)
    text = orjson.dumps(made)
    if cache_folder is not None and not unreadable:
        with suppress(OSError):
            write_cache(cache_folder / KEPT_NAME, key + text)
    return Ledger(text, unreadable)


def _key(files: Sequence[LogFile], timezone: str | None) -> bytes:
    """Return what differs whenever the ledger could: it is compared whole, and stands before a kept one."""
    zone = timezone or f"{os.environ.get('TZ')} {time.tzname}"
    marks = (f"{file.host}\0{file.path}\0{file.form}\0{LOGS[file.host].mark(file)}" for file in files)
    return os.fsencode("\0".join((f"{REPORT_VERSION} {READING_VERSION} {zone}", *marks, "\n")))


def _kept(cache_folder: Path | None, key: bytes) -> bytes | None:
    if cache_folder is None:
        return None
    try:
        kept = (cache_folder / KEPT_NAME).read_bytes()
    except OSError:
        return None
    return kept[len(key) :] if kept.startswith(key) else None


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - see the module's docstring

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        message = f"there is no time zone `{name}`: name one as Europe/Berlin, or UTC"
        raise TokeneconomizerError(message) from error
