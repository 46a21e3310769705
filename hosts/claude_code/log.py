"""Claude Code's logs: one file a session, and one for each of its sub-agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.log_files import files_below, mark_of
from tokeneconomizer.hosts.log_format import LogFile, Wanted
from tokeneconomizer.hosts.recognise import CLAUDE_CODE as NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.log_format import AgentHomes, Batch, Cursor

__all__ = ["NAME", "file_at", "files", "mark", "read"]

FOLDERS_VARIABLE = "CLAUDE_CONFIG_DIR"
"""Moves the agent's folder; programs that read its logs take several, with commas between."""

PROJECTS_FOLDER = "projects"

RESULTS_FOLDER = "tool-results"
"""Holds outputs too large for a line, which may be anything."""


def files(homes: AgentHomes) -> list[LogFile]:
    """Return the files that hold sessions; see `hosts.log_format.LogFormat.files`."""
    roots = {os.path.realpath(folder / PROJECTS_FOLDER) for folder in _folders(homes)}
    return [
        LogFile(NAME, path) for root in sorted(roots) for path in files_below(root, "*.jsonl", RESULTS_FOLDER)
    ]


def _folders(homes: AgentHomes) -> list[Path]:
    named = [folder.strip() for folder in homes.environment.get(FOLDERS_VARIABLE, "").split(",")]
    if any(named):
        return [Path(folder) for folder in named if folder]
    configuration = Path(homes.environment.get("XDG_CONFIG_HOME") or homes.home / ".config")
    return [configuration / "claude", homes.home / ".claude"]


def file_at(path: Path) -> LogFile:
    """Return a file that the user names; see `hosts.log_format.LogFormat.file_at`."""
    return LogFile(NAME, str(path))


def mark(file: LogFile) -> str:
    """Return the file's mark; see `hosts.log_format.LogFormat.mark`."""
    return mark_of(file.path)


def read(file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new behind the cursor; see `hosts.log_format.LogFormat.read`."""
    if wanted is Wanted.USAGE:
        from tokeneconomizer.hosts.claude_code.log_tokens import read_tokens  # noqa: PLC0415 - see hosts.logs

        return read_tokens(Path(file.path), cursor)
    from tokeneconomizer.hosts.claude_code.log_reader import read_all  # noqa: PLC0415 - as above

    return read_all(Path(file.path), cursor)
