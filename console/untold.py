"""
What `te setup` changes and has not told the log yet, kept on disk meanwhile.

Written before the first file is touched, so that a kill in between loses no event: the next `te setup` tells.
A kill between telling and forgetting tells once more, which says nothing wrong.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.recognise import CLAUDE_CODE
from tokeneconomizer.writers.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home


@dataclass(frozen=True, slots=True)
class Change:
    """An action, `install` or `uninstall`, the files that it changes, and the agent that they belong to."""

    action: str
    files: list[str]
    host: str = CLAUDE_CODE


class Untold:
    """
    The changes that are still to be told.

    Args:
        home: our home.

    """

    def __init__(self, home: Home) -> None:
        self._path: Path = home.installed.with_name("untold.json")

    def changes(self) -> list[Change]:
        """Return what an earlier run left; nothing when the file cannot be read."""
        with suppress(OSError, ValueError, TypeError):
            return [Change(**entry) for entry in json.loads(self._path.read_bytes())]
        return []

    def keep(self, changes: Sequence[Change]) -> None:
        """Keep these alone."""
        entries = [asdict(change) for change in changes if change.files]
        if entries:
            write_whole(self._path, json.dumps(entries, indent=2).encode())
        else:
            self._path.unlink(missing_ok=True)
