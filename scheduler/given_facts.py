"""
The facts that open sessions were given, for the hook client without a daemon.

An agent that puts its context together anew at each start has to be given the same bytes again, or its prompt
cache is lost from the first message on. Nothing is given where no such file is: that may cost the cache too,
but other bytes certainly would.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.writers.whole_file import make_own_folder, write_cache

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

HOSTS_THAT_REASSEMBLE = frozenset({COPILOT})
"""Those whose hooks go through the hook client."""

SESSIONS_KEPT = 200
"""Weeks of work; an older session is hardly resumed in the moment in which no daemon answers."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""An id of any other form would be no safe name of a file."""


@dataclass(frozen=True, slots=True)
class GivenFacts:
    """Keeps a file for each session, named as its agent names it."""

    home: Home

    @property
    def folder(self) -> Path:
        """Where the files are, by agent; the hook client knows the place, too."""
        return self.home.cache / "given"

    def keep(self, host: str, session_id: str, text: str) -> None:
        """Have the facts that a session was given on disk; an empty text removes them."""
        if host not in HOSTS_THAT_REASSEMBLE or not _PLAIN_NAME.fullmatch(session_id):
            return
        path = self.folder / host / session_id
        # It saves tokens only: a full disk is no reason to fail the call.
        with suppress(OSError):
            if not text:
                path.unlink(missing_ok=True)
                return
            make_own_folder(path.parent)
            write_cache(path, text.encode("utf-8", "replace"))
            _remove_oldest(path.parent)


def _remove_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[:-SESSIONS_KEPT]:
        path.unlink(missing_ok=True)
