"""The home's lock: whoever holds it may write events. A held lock is the only proof that a daemon lives."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import DaemonRunning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


ATTEMPTS = 20
ATTEMPT_PAUSE_S = 0.05
"""A command holds the lock for some milliseconds, to look or to store one event; together one second."""


@contextmanager
def held(path: Path, attempts: int | None = ATTEMPTS) -> Iterator[None]:
    """
    Hold the lock for the time of the block; the kernel lets go when the process ends, however it ends.

    Args:
        path: the lock's file; made when absent.
        attempts: how often it is tried; None waits until the lock is free.

    Raises:
        DaemonRunning: another process holds it, and went on holding it.

    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(descriptor, attempts):
            message = f"another process holds {path}: a daemon runs in this home (`te daemon status`)"
            raise DaemonRunning(message)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, attempts: int | None) -> bool:
    if attempts is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    for attempt in range(attempts):
        if attempt:
            time.sleep(ATTEMPT_PAUSE_S)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock now."""
    try:
        with held(path, attempts=1):
            return False
    except DaemonRunning:
        return True
    except FileNotFoundError:
        return False
