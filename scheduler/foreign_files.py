"""Reading files that others own and may have replaced by anything: it never waits and never raises."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def beginning_of(path: str | Path, size: int) -> bytes:
    """Return a file's first bytes; nothing when it is no readable regular file."""
    return _read(path, size, from_end=False)


def end_of(path: str | Path, size: int) -> bytes:
    """Return a file's last bytes; nothing when it is no readable regular file."""
    return _read(path, size, from_end=True)


def _read(path: str | Path, size: int, *, from_end: bool) -> bytes:
    try:
        # A named pipe without a writer would keep an ordinary open waiting.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        start = max(0, found.st_size - size) if from_end else 0
        return os.pread(descriptor, size, start)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
