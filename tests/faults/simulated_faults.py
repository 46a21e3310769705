"""What may befall a hook call, and the counts of it."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulated_daemon import Disk

    from tokeneconomizer.scheduler.home import Home

DELIVERIES = (
    "plain",
    "delivered_twice",
    "through_two_registrations",
    "reply_lost",
    "unconfirmed",
    "timed_out",
    "only_spooled",
    "not_even_spooled",
    "killed_before_insert",
    "killed_before_commit",
    "killed_after_commit",
    "killed_before_reply",
    "killed_once_answered",
    "killed_between_two_commits",
    "disk_full_at_insert",
    "disk_full_at_commit",
    "disk_full_for_kept",
    "locked",
)
"""What may befall a hook call; `plain` is no fault."""

OF_THE_DISK = frozenset(name for name in DELIVERIES if name.endswith(("_insert", "_commit", "_commits")))
"""They come to pass only when the daemon writes."""


@dataclass
class Counts:
    """What a run came to."""

    actions: int = 0
    faults: int = 0
    calls: int = 0
    acknowledged: int = 0
    events: int = 0

    def add(self, other: Counts) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        return ", ".join(f"{number} {name}" for name, number in vars(self).items())


@contextmanager
def befalling(disk: Disk, home: Home, delivery: str, number: int) -> Iterator[None]:
    """Have the fault befall the daemon for the time of the block; `number` is the delivery's."""
    with ExitStack() as over:
        over.callback(disk.heal)
        match delivery:
            case "killed_before_insert":
                disk.kills_at = "before INSERT INTO stored_events"
            case "killed_before_commit":
                disk.kills_at = "before COMMIT"
            case "killed_after_commit":
                disk.kills_at = "after COMMIT"
            case "killed_between_two_commits":
                disk.kills_at = "before INSERT OR REPLACE"
            case "disk_full_at_insert":
                disk.fails_at, disk.writes_failing = "INSERT", 1 + number % 4
            case "disk_full_at_commit":
                disk.fails_at, disk.writes_failing = "COMMIT", 1 + number % 2
            case "disk_full_for_kept":
                over.enter_context(full_disk(room=number % 2 * 100))
            case "locked":
                over.enter_context(locked(home))
        yield


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Another process writes to the store, and goes on and on."""
    other = sqlite3.connect(home.events, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Have no room, or for so many bytes, for what is written at a place of a file."""
    really_write = os.pwrite

    def write(descriptor: int, data: bytes, offset: int) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really_write(descriptor, data[:room], offset)

    with patch.object(os, "pwrite", write):
        yield


@contextmanager
def readonly_spool() -> Iterator[None]:
    """Have the hook client unable to write, as in a read-only home; root may write anywhere."""
    really_open = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).startswith("spool/"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return really_open(path, *arguments, **options)

    with patch.object(os, "open", refuse):
        yield
