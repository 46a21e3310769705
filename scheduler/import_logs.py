"""
The child process that reads the agents' logs into the store.

Started as `python -I -m tokeneconomizer.scheduler.import_logs [--agents-home DIR]`.

It may be killed at any moment: the next run sends what is missing. It tells its progress on stdout, one JSON
object a line; the last one is the summary.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.errors import DaemonRunning, TokeneconomizerError
from tokeneconomizer.hosts.log_format import AgentHomes, LogFile, Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.records import LoggedSession, LoggedUsage, SkippedLine
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler import cached
from tokeneconomizer.scheduler.accounting_hosts import accounting_of
from tokeneconomizer.scheduler.catalogues import Catalogues, record_catalogues
from tokeneconomizer.scheduler.child import EXIT_BUSY, EXIT_FAILED, LOWEST_PRIORITY
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.import_turns import HeldTurns, TurnsOfLog
from tokeneconomizer.scheduler.import_usage import import_usage
from tokeneconomizer.scheduler.importing import Ground, TurnImport
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending
from tokeneconomizer.scheduler.usage_files import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.scheduler.catalogues import SeenCatalogue
    from tokeneconomizer.scheduler.import_turns import Turn

MARKS_NAME = "imported.msgpack"

READING_VERSION = 2
"""Raised whenever a log comes to more than before: all files are then looked at again."""

SETTLED_S = 3_600
"""A log that was not written to for an hour: its last turn is over, whether it says so or not."""

FILES_PER_MARK = 50
"""After so many files it is written down which are done; a killed run reads no more than these again."""


@dataclass(slots=True)
class Summary:
    """What a run came to; `files` counts those that were read, not those that had not changed."""

    files: int = 0
    sessions: int = 0
    turns: int = 0
    replies: int = 0
    events: int = 0
    skipped_lines: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)


class _Marks(msgspec.Struct):
    """Which files are done: host and path -> mark when it was read."""

    version: int = READING_VERSION
    files: dict[str, str] = {}


def main(arguments: Sequence[str]) -> int:
    """Import all logs of the agents in a home folder, `--agents-home DIR`; return the exit status."""
    os.nice(LOWEST_PRIORITY)
    os.umask(0o077)
    home = Home.from_environment()
    named = arguments[1] if list(arguments[:1]) == ["--agents-home"] else ""
    homes = AgentHomes(Path(named)) if named else AgentHomes(Path.home(), os.environ)
    home.create()
    try:
        with (
            held(home.root / "import.lock", attempts=1),
            EventLog(home.events) as log,
            Sending(home) as sending,
        ):
            places = LogPlaces(str(Path.home()))
            accounting = accounting_of(homes.home, homes.environment)
            hasher, user_home = Hasher(home.key()), str(Path.home())
            ground = Ground(log, hasher, user_home, places.of, sending.send, accounting, sending.ask)
            summary = Import(ground, home.cache).run(find(homes, LOGS))
    except DaemonRunning as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_BUSY
    except TokeneconomizerError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    _tell(summary=asdict(summary))
    return 0


class Import:
    """
    One run over log files.

    Args:
        ground: the store, and the way into it.
        cache_folder: where it is written down which files are done.

    """

    def __init__(self, ground: Ground, cache_folder: Path) -> None:
        self._ground = ground
        self._marks_file = cache_folder / MARKS_NAME
        self._turns = TurnImport(ground)
        self._sessions: set[tuple[str, str]] = set()
        self._catalogues: list[SeenCatalogue] = []
        self.summary = Summary()

    def run(self, files: Sequence[LogFile]) -> Summary:
        """Import what is new in these files."""
        marks = _load(self._marks_file)
        _tell(total=len(files))
        for number, file in enumerate(files, start=1):
            mark = LOGS[file.host].mark(file)
            if marks.files.get(key_of(file)) != mark:
                try:
                    self._import(file)
                    marks.files[key_of(file)] = mark
                except OSError as error:
                    self.summary.unreadable.append((file.path, error.strerror or str(error)))
            if number % FILES_PER_MARK == 0:
                cached.keep(self._marks_file, marks)
            _tell(done=number)
        cached.keep(self._marks_file, marks)
        record_catalogues(self._ground, self._catalogues, only_first=True)
        self.summary.sessions = len(self._sessions)
        return self.summary

    def _import(self, file: LogFile) -> None:
        turns, last, catalogues = TurnsOfLog(file.host), HeldTurns(), Catalogues(file.host)
        usages: list[UsageRecord] = []
        sessions: dict[str, LoggedSession] = {}
        for batch in LOGS[file.host].read(file, None, Wanted.ALL):
            for record in batch.records:
                match record:
                    case LoggedUsage():
                        usages.append(record.usage)
                    case SkippedLine():
                        self.summary.skipped_lines += 1
                    case LoggedSession():
                        sessions.setdefault(record.session_id, record)
                last.add(record)
                catalogues.take(record)
                for turn in turns.take(record):
                    self._take(last.take(turn))
        self._take(last.rest())
        self._catalogues += catalogues.seen(is_whole_log=True)
        if self._is_settled(file):
            self._take(turns.rest())
        self.summary.events += import_usage(self._ground, file.host, sessions, usages)
        self.summary.replies += len({usage.usage_id for usage in usages})
        self.summary.files += 1

    def _take(self, turns: Iterable[Turn]) -> None:
        for turn in turns:
            self.summary.events += self._turns.take(turn)
            self.summary.turns += 1
            self._sessions.add((turn.key.host, turn.key.session_id))

    @staticmethod
    def _is_settled(file: LogFile) -> bool:
        try:
            return time.time() - Path(file.path).stat().st_mtime > SETTLED_S
        except OSError:
            return True


def not_imported(files: Sequence[LogFile], cache_folder: Path) -> list[LogFile]:
    """Return the files that a run would read."""
    marks = _load(cache_folder / MARKS_NAME)
    return [file for file in files if marks.files.get(key_of(file)) != LOGS[file.host].mark(file)]


def _load(marks_file: Path) -> _Marks:
    # Without them a run reads all files again, and stores nothing twice.
    marks = cached.load(marks_file, _Marks)
    return marks if marks is not None and marks.version == READING_VERSION else _Marks()


def _tell(**words: object) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
