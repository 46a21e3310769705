"""The files of a checkout that a fact is held against: small, read at once, and only from within it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.foreign_files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FILE_BYTES_MAX = 1_000_000
"""A package.json or a Makefile has some kilobytes; what is larger is none."""


def reader_of(checkouts: Sequence[str]) -> Callable[[str], str | None] | None:
    """Return a reader of the first checkout that is there; None where none of them is."""
    root = next((Path(checkout) for checkout in checkouts if checkout and Path(checkout).is_dir()), None)
    if root is None:
        return None

    def read(path: str) -> str | None:
        file = root / path
        if not file.is_file() or not file.resolve().is_relative_to(root.resolve()):
            return None
        return beginning_of(file, FILE_BYTES_MAX).decode("utf-8", "replace")

    return read
