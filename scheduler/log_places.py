"""Which repository a logged session worked in, also when its folder is gone by now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.identity import normalise_remote
from tokeneconomizer.scheduler.places import place_of

if TYPE_CHECKING:
    from tokeneconomizer.hosts.records import LoggedSession

UNKNOWN_REPOSITORY = "unknown"
"""Of a session whose log names neither folder nor repository."""


class LogPlaces:
    """
    Finds places, each folder once.

    Args:
        user_home: the search for `.git` stops there.

    """

    def __init__(self, user_home: str) -> None:
        self._user_home = user_home
        self._known: dict[tuple[str, str], Place] = {}

    def of(self, session: LoggedSession) -> Place:
        """Return a session's repository and checkout: by its folder, else by the URL that its log names."""
        key = (session.folder, session.repository_url)
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, folder: str, repository_url: str) -> Place:
        if folder and Path(folder).is_dir():
            return place_of(folder, self._user_home)
        if repository_url:
            return Place(normalise_remote(repository_url), folder)
        return Place(f"path:{folder}" if folder else UNKNOWN_REPOSITORY, folder)
