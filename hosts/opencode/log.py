"""
opencode's logs: its database, the files that older versions wrote, and documents of `opencode export`.

The three forms tell a session alike, with the same ids, so that its tokens count once wherever it is found.
The files of a session that the database holds, too, are those that opencode took it over from: they are no
log. A sub-agent has a session of its own, which names its parent and pays for itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_files import mark_of
from tokeneconomizer.hosts.log_format import LogFile
from tokeneconomizer.hosts.opencode.log_marks import database_mark
from tokeneconomizer.hosts.recognise import OPENCODE as NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import AgentHomes, Batch, Cursor, Wanted

__all__ = ["NAME", "exports_in", "file_at", "files", "mark", "read"]

DATABASE, STORAGE, EXPORT = "database", "storage", "export"

DATA_VARIABLE = "XDG_DATA_HOME"

_SQLITE_HEADER = b"SQLite format 3\0"


def files(homes: AgentHomes) -> list[LogFile]:
    """Return databases, then sessions that are files only; see `hosts.log_format.LogFormat.files`."""
    data = Path(homes.environment.get(DATA_VARIABLE) or homes.home / ".local" / "share") / "opencode"
    databases = sorted(str(path) for path in (*data.glob("opencode.db"), *data.glob("opencode-*.db")))
    alone = _sessions_without(databases, data / "storage")
    return [LogFile(NAME, path, DATABASE) for path in databases] + [
        LogFile(NAME, path, STORAGE) for path in alone
    ]


def _sessions_without(databases: list[str], storage: Path) -> list[str]:
    """Return the sessions that are files only."""
    if not storage.is_dir():
        return []
    from tokeneconomizer.hosts.opencode import log_database, log_storage  # noqa: PLC0415 - see hosts.logs

    sessions = log_storage.sessions(storage)
    taken_over = {
        session_id for path in databases if sessions for session_id in log_database.session_ids(path)
    }
    return [path for path in sessions if log_storage.session_id_of(path) not in taken_over]


def file_at(path: Path) -> LogFile:
    """Return a database, an export, or a session's file or folder of messages that the user names."""
    from tokeneconomizer.hosts.opencode import log_storage  # noqa: PLC0415 - see hosts.logs

    if log_storage.is_session(path):
        return LogFile(NAME, str(path), STORAGE)
    return LogFile(NAME, str(path), DATABASE if _is_database(path) else EXPORT)


def exports_in(folder: Path) -> list[LogFile]:
    """Return the documents in a folder and those below it."""
    return [LogFile(NAME, str(path), EXPORT) for path in sorted(folder.rglob("*.json")) if path.is_file()]


def mark(file: LogFile) -> str:
    """Return the mark of a file; see `hosts.log_format.LogFormat.mark`."""
    if file.form == DATABASE:
        return database_mark(file.path)
    if file.form == EXPORT:
        return mark_of(file.path)
    from tokeneconomizer.hosts.opencode import log_storage  # noqa: PLC0415 - see hosts.logs

    return log_storage.mark(file.path)


def read(file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new behind the cursor; see `hosts.log_format.LogFormat.read`."""
    from tokeneconomizer.hosts.opencode import log_database, log_export, log_storage  # noqa: PLC0415 - as above

    if file.form == DATABASE:
        return log_database.read(file.path, cursor, wanted)
    if file.form == STORAGE:
        return log_storage.read(file.path, cursor, wanted)
    return log_export.read(file.path, cursor, wanted)


def _is_database(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return path.suffix == ".db"
    try:
        return os.read(descriptor, len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False
    finally:
        os.close(descriptor)
