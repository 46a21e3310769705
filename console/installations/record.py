"""What was written into agents' files, so that exactly that can be taken back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.writers.applied import Applied
from tokeneconomizer.writers.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path


class InstalledRecord:
    """
    What was written into agents' files, by file; kept before the file is touched.

    Args:
        path: `installed.json` of our home.

    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, file: Path) -> Applied | None:
        """Return the record of a file, or None."""
        stored = self._read().get(str(file))
        return None if stored is None else Applied.from_json(stored)

    def put(self, file: Path, applied: Applied) -> None:
        """Keep the record of a file."""
        self._write({**self._read(), str(file): applied.to_json()})

    def drop(self, file: Path) -> None:
        """Forget a file."""
        kept = {name: record for name, record in self._read().items() if name != str(file)}
        self._write(kept)

    def _read(self) -> dict[str, str]:
        try:
            stored = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        return {str(name): str(record) for name, record in stored.items()}

    def _write(self, records: dict[str, str]) -> None:
        write_whole(self._path, json.dumps(records, indent=2, sort_keys=True).encode())
