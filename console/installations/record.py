"""What was written into agents' files, so that exactly that can be taken back."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.errors import BrokenUndoRecord
from tokeneconomizer.writers.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path


class InstalledRecord:
    """
    What was written into agents' files, by file; kept before the file is touched.

    A record that is lost or damaged is none: entries of ours are then removed by their names.

    Args:
        path: `installed.json` of our home.

    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, file: Path) -> Applied | None:
        """Return the record of a file, or None."""
        stored = self._read().get(str(file))
        if isinstance(stored, str):
            with suppress(BrokenUndoRecord):
                return Applied.from_json(stored)
        return None

    def put(self, file: Path, applied: Applied) -> None:
        """Keep the record of a file."""
        self._write({**self._read(), str(file): applied.to_json()})

    def drop(self, file: Path) -> None:
        """Forget a file; a damaged record is forgotten whole, as nothing can be read of it."""
        if self._path.exists():
            self._write({name: record for name, record in self._read().items() if name != str(file)})

    def _read(self) -> dict[str, object]:
        with suppress(OSError, ValueError, RecursionError):
            stored = json.loads(self._path.read_bytes())
            return stored if isinstance(stored, dict) else {}
        return {}

    def _write(self, records: dict[str, object]) -> None:
        write_whole(self._path, json.dumps(records, indent=2, sort_keys=True).encode())
