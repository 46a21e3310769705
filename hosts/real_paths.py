"""Paths that an agent noted, as they lie on the disk."""

from __future__ import annotations

from pathlib import Path


def real_path(noted: str) -> str:
    """Return the path with its links followed; as it is where that leads nowhere, or no path can be such."""
    try:
        return str(Path(noted).resolve())
    except (OSError, ValueError, RuntimeError):
        return noted
