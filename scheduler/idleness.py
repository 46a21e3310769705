"""For how long nothing has happened in a repository, with whatever agent, for certain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler import cached
from tokeneconomizer.scheduler.due import Idle, idle_since, seconds_between
from tokeneconomizer.scheduler.session_files import ANY_REPOSITORY, last_writes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.scheduler.due import Reading
    from tokeneconomizer.scheduler.log_places import LogPlaces

LONGEST_WAIT = timedelta(minutes=1_000)
"""The most that `prune.idle_minutes` takes: session files that are older keep nobody waiting."""

NEVER = datetime.min.replace(tzinfo=UTC)


class Idleness:
    """
    Watches repositories across the runs of short processes.

    Args:
        file: where it is kept when activity was first heard of; without it the wait begins anew.
        last_event: when a repository's newest event happened, as ISO 8601; empty when there is none.
        homes: where the agents' own session files are.
        places: tells the repository of a session file.

    """

    def __init__(
        self, file: Path, last_event: Callable[[str], str], homes: AgentHomes, places: LogPlaces
    ) -> None:
        self._file = file
        self._last_event = last_event
        self._homes = homes
        self._places = places
        self._idles = cached.load(self._file, dict[str, Idle]) or {}

    def seconds(self, repository: str, now: Reading) -> float:
        """Look at what happened last, and return how long ago that was at least."""
        idle = idle_since(self._idles.get(repository), self._last_activity(repository, now), now)
        self._idles[repository] = idle
        return seconds_between(idle.base, now)

    def keep(self) -> None:
        """Keep what was seen for the next process."""
        cached.keep(self._file, self._idles)

    def _last_activity(self, repository: str, now: Reading) -> datetime:
        event = self._last_event(repository)
        written = last_writes(self._homes, self._places, now.wall - LONGEST_WAIT)
        return max(
            datetime.fromisoformat(event) if event else NEVER,
            written.get(repository, NEVER),
            written.get(ANY_REPOSITORY, NEVER),
        )
