"""Answered calls that cannot be stored, kept for a version of the program that can."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

KEPT_MAX = 1_000
"""Days of work: `te doctor` tells from the first one on. Beyond these the oldest goes."""

TRIED_BY = ".tried-by"
"""Names the version of the program that was the last to try them all."""


class Refused:
    """
    The folder of such calls, each a file as in the spool.

    Args:
        folder: made when it is needed.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, path: Path) -> None:
        """Move a file of the spool here."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path.replace(self._folder / path.name)
        self._forget_oldest()

    def keep(self, name: str, data: bytes) -> None:
        """Write a file."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(self._folder / name, flags, 0o600), "wb") as file:
            file.write(data)
        self._forget_oldest()

    def give_back(self, version: str, spool: Path) -> None:
        """Move all to the spool, once for each version: what one cannot store, the next one may."""
        mark = self._folder / TRIED_BY
        waiting = self._waiting()
        if not waiting or (mark.exists() and mark.read_text() == version):
            return
        for path in waiting:
            path.replace(spool / path.name)
        mark.write_text(version)

    def _waiting(self) -> list[Path]:
        if not self._folder.exists():
            return []
        return [path for path in self._folder.iterdir() if not path.name.startswith(".")]

    def _forget_oldest(self) -> None:
        kept = sorted(self._waiting(), key=lambda file: order_of(file.name))
        for old in kept[:-KEPT_MAX]:
            old.unlink(missing_ok=True)


def order_of(name: str) -> tuple[int, str]:
    """Return what names of spooled calls are ordered by: the time that they begin with."""
    head = name.partition("-")[0]
    return (int(head) if head.isascii() and head.isdigit() else 0, name)
