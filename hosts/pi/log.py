"""Pi's sessions, read as records (measured on logs of 0.67 to 1.6.0)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_files import files_below, mark_of
from tokeneconomizer.hosts.log_format import LogFile, Wanted
from tokeneconomizer.hosts.recognise import PI as NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import AgentHomes, Batch, Cursor

__all__ = ["NAME", "file_at", "files", "mark", "read"]


def files(homes: AgentHomes) -> list[LogFile]:
    """Return the sessions' files; see `hosts.log_format.LogFormat.files`."""
    agent = homes.environment.get("PI_CODING_AGENT_DIR") or homes.home / ".pi" / "agent"
    sessions = homes.environment.get("PI_CODING_AGENT_SESSION_DIR") or Path(agent) / "sessions"
    return [LogFile(NAME, path) for path in files_below(sessions, "*.jsonl")]


def file_at(path: Path) -> LogFile:
    """Return a file as one of this agent's."""
    return LogFile(NAME, str(path))


def mark(file: LogFile) -> str:
    """Return a file's mark; see `hosts.log_format.LogFormat.mark`."""
    return mark_of(file.path)


def read(file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    if wanted is Wanted.USAGE:
        from tokeneconomizer.hosts.pi.log_tokens import read_tokens  # noqa: PLC0415 - see hosts.logs

        return read_tokens(file.path, cursor)
    from tokeneconomizer.hosts.pi.log_reader import read_all  # noqa: PLC0415 - as above

    return read_all(file.path, cursor)
