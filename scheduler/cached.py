"""What a home's cache holds: read if it is whole and of this program, written if that is possible."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tokeneconomizer.writers.whole_file import make_own_folder, write_cache

if TYPE_CHECKING:
    from pathlib import Path

Kept = TypeVar("Kept")


def load(path: Path, kind: type[Kept]) -> Kept | None:
    """Return what was kept there; None where there is nothing, or nothing of that kind."""
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def keep(path: Path, value: object) -> None:
    """Keep a value; a home that cannot be written costs the next reader its time, and nothing else."""
    with suppress(OSError):
        make_own_folder(path.parent)
        write_cache(path, msgspec.msgpack.encode(value))
