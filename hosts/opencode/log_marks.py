"""What tells that opencode wrote to its database."""

from __future__ import annotations

from tokeneconomizer.hosts.log_files import mark_of


def database_mark(path: str) -> str:
    """Return what differs whenever the agent wrote; see `hosts.log_format.LogFormat.mark`."""
    return f"{mark_of(path)} {mark_of(wal_of(path))}"


def wal_of(path: str) -> str:
    """Return the file that holds what was written last."""
    return f"{path}-wal"
