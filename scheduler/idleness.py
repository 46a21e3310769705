"""For how long nothing has happened in a repository, with whatever agent, for certain."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.scheduler.due import Idle, idle_since, seconds_between
from tokeneconomizer.scheduler.session_files import ANY_REPOSITORY, last_writes
from tokeneconomizer.writers.whole_file import make_own_folder, write_cache

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
        self._idles = self._load()

    def seconds(self, repository: str, now: Reading) -> float:
        """Look at what happened last, and return how long ago that was at least."""
        idle = idle_since(self._idles.get(repository), self._last_activity(repository, now), now)
        self._idles[repository] = idle
        return seconds_between(idle.base, now)

    def keep(self) -> None:
        """Keep what was seen for the next process."""
        with suppress(OSError):
            make_own_folder(self._file.parent)
            write_cache(self._file, msgspec.msgpack.encode(self._idles))

    def _last_activity(self, repository: str, now: Reading) -> datetime:
        event = self._last_event(repository)
        written = last_writes(self._homes, self._places, now.wall - LONGEST_WAIT)
        return max(
            datetime.fromisoformat(event) if event else NEVER,
            written.get(repository, NEVER),
            written.get(ANY_REPOSITORY, NEVER),
        )

    def _load(self) -> dict[str, Idle]:
        try:
            return msgspec.msgpack.decode(self._file.read_bytes(), type=dict[str, Idle])
        except (OSError, msgspec.DecodeError):
            return {}
