"""Copilot CLI's events, read as records (measured on logs of 1.0.12 to 1.0.102)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_files import mark_of
from tokeneconomizer.hosts.log_format import LogFile, Wanted
from tokeneconomizer.hosts.recognise import COPILOT as NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import AgentHomes, Batch, Cursor

__all__ = ["EVENTS_FILE", "NAME", "agent_folder", "file_at", "files", "mark", "path_of", "read"]

EVENTS_FILE = "events.jsonl"

SESSIONS_FOLDER = "session-state"

FOLDER_VARIABLE = "COPILOT_HOME"


def agent_folder(homes: AgentHomes) -> Path:
    """Return the agent's own folder."""
    return Path(homes.environment.get(FOLDER_VARIABLE) or homes.home / ".copilot")


def path_of(session_id: str, homes: AgentHomes) -> Path:
    """Return the file of a session, its sub-agents included: the hooks of calls do not name it."""
    return agent_folder(homes) / SESSIONS_FOLDER / session_id / EVENTS_FILE


def files(homes: AgentHomes) -> list[LogFile]:
    """Return the sessions' files; see `hosts.log_format.LogFormat.files`."""
    sessions = agent_folder(homes) / SESSIONS_FOLDER
    # Versions before 1.0 wrote a file where later ones have a folder.
    found = [*sessions.glob(f"*/{EVENTS_FILE}"), *sessions.glob("*.jsonl")]
    return [file_at(path) for path in sorted(found)]


def file_at(path: Path) -> LogFile:
    """Return a file as one of this agent's."""
    return LogFile(NAME, str(path))


def mark(file: LogFile) -> str:
    """Return a file's mark; see `hosts.log_format.LogFormat.mark`."""
    return mark_of(file.path)


def read(file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    path = Path(file.path)
    session_id = path.parent.name if path.name == EVENTS_FILE else path.stem
    if wanted is Wanted.USAGE:
        from tokeneconomizer.hosts.copilot.log_tokens import read_tokens  # noqa: PLC0415 - see hosts.logs

        return read_tokens(file.path, session_id, cursor)
    from tokeneconomizer.hosts.copilot.log_reader import read_all  # noqa: PLC0415 - as above

    return read_all(file.path, session_id, cursor)
