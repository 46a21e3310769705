"""When an agent last wrote its session files, by repository: it may be at work without our hooks."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.recognise import OPENCODE
from tokeneconomizer.hosts.records import LoggedSession

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes, LogFile
    from tokeneconomizer.scheduler.log_places import LogPlaces

ANY_REPOSITORY = "*"
"""A database that holds the sessions of all repositories does not tell which of them it was written for."""

WRITE_AHEAD = "-wal"
"""SQLite writes beside its database first."""


def last_writes(homes: AgentHomes, places: LogPlaces, since: datetime) -> dict[str, datetime]:
    """Return the newest time of a session file's writing, by repository, of those written since a moment."""
    newest: dict[str, datetime] = {}
    for file in find(homes, LOGS):
        at = _written_at(file)
        if at is None or at < since:
            continue
        repository = _repository_of(file, places)
        newest[repository] = max(at, newest.get(repository, at))
    return newest


def _written_at(file: LogFile) -> datetime | None:
    times = []
    for path in (file.path, file.path + WRITE_AHEAD):
        with suppress(OSError):
            times.append(Path(path).stat().st_mtime)
    return datetime.fromtimestamp(max(times), UTC) if times else None


def _repository_of(file: LogFile, places: LogPlaces) -> str:
    if file.host == OPENCODE:
        return ANY_REPOSITORY
    with suppress(OSError):
        for batch in LOGS[file.host].read(file, None, Wanted.ALL):
            for record in batch.records:
                if isinstance(record, LoggedSession) and record.folder:
                    return places.of(record).repository
            break
    return ANY_REPOSITORY
