"""
The child process that reads what is new in the agents' logs: tokens, and calls that no hook told.

Started by the daemon's timer as `python -I -m tokeneconomizer.scheduler.sweep_logs`. Only logs that
grew since the store exists are looked at: what is older is history, which `te import` reads.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.errors import DaemonRunning, TokeneconomizerError
from tokeneconomizer.hosts.log_format import AgentHomes, Cursor, Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession, LoggedUsage
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler import cached
from tokeneconomizer.scheduler.catalogues import Catalogues, record_catalogues
from tokeneconomizer.scheduler.child import EXIT_BUSY, EXIT_FAILED, LOWEST_PRIORITY
from tokeneconomizer.scheduler.finding_missed import MissedCallsOfTurn
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.import_turns import TurnsOfLog
from tokeneconomizer.scheduler.import_usage import import_usage
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.lock import held
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending
from tokeneconomizer.scheduler.usage_files import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.log_format import LogFile
    from tokeneconomizer.hosts.records import Record

READING_VERSION = 2
"""Raised whenever a log comes to more than before."""


class _Swept(msgspec.Struct):
    """
    How far a log was swept.

    Attributes:
        mark: of the file then.
        cursor: behind the last turn that was over.
        sessions: what the log said of its sessions until there; the last one is the one that goes on.
        requests: the newest shape of each agent's requests until there: told again only when it changes.

    """

    mark: str
    cursor: Cursor | None = None
    sessions: list[LoggedSession] = []
    requests: list[LoggedCatalogue] = []


class _State(msgspec.Struct):
    version: int = READING_VERSION
    files: dict[str, _Swept] = {}


def main() -> int:
    """Sweep the logs of all agents once; return the exit status."""
    os.nice(LOWEST_PRIORITY)
    os.umask(0o077)
    home = Home.from_environment()
    homes = AgentHomes(Path.home(), os.environ)
    try:
        with held(home.import_lock, attempts=1), EventLog(home.events) as log, Sending(home) as sending:
            user_home = str(Path.home())
            ground = Ground(
                log, Hasher(home.key()), user_home, LogPlaces(user_home).of, sending.send, ask=sending.ask
            )
            Sweep(ground, MissedCallsOfTurn(ground, sending.ask), home.cache).run(find(homes, LOGS))
    except DaemonRunning:
        return EXIT_BUSY
    except TokeneconomizerError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILED
    return 0


class Sweep:
    """
    One run over log files.

    Args:
        ground: the store, and the way into it.
        missed: stores calls of a turn that no hook told.
        cache_folder: where it is written down how far each file was read.

    """

    def __init__(self, ground: Ground, missed: MissedCallsOfTurn, cache_folder: Path) -> None:
        self._ground = ground
        self._missed = missed
        self._state_file = cache_folder / "swept.msgpack"

    def run(self, files: Sequence[LogFile]) -> None:
        """Read what is new; a file that cannot be read now is tried again by the next run."""
        began_at = self._store_began_at()
        if began_at is None:
            return
        state = self._load()
        for file in files:
            key, mark = key_of(file), LOGS[file.host].mark(file)
            before = state.files.get(key)
            if (before is not None and before.mark == mark) or not _is_newer(file, began_at):
                continue
            with suppress(OSError):
                state.files[key] = self._sweep(file, mark, before or _Swept(""))
        cached.keep(self._state_file, state)

    def _sweep(self, file: LogFile, mark: str, before: _Swept) -> _Swept:
        turns = TurnsOfLog(file.host)
        sessions = {session.session_id: session for session in before.sessions}
        requests = {request.agent_id: request for request in before.requests}
        known: tuple[Record, ...] = (*before.sessions, *before.requests)
        for record in known:
            list(turns.take(record))
        usages: list[UsageRecord] = []
        cursor = before.cursor
        catalogues = Catalogues(file.host)
        for session in before.sessions:
            catalogues.take(session)
        for batch in LOGS[file.host].read(file, before.cursor, Wanted.ALL):
            for record in batch.records:
                if isinstance(record, LoggedUsage):
                    usages.append(record.usage)
                elif isinstance(record, LoggedSession):
                    sessions.pop(record.session_id, None)
                    sessions[record.session_id] = record
                elif isinstance(record, LoggedCatalogue) and record.whole:
                    requests[record.agent_id] = record
                catalogues.take(record)
                for turn in turns.take(record):
                    self._missed.store(turn)
            if not turns.has_open_turn():
                cursor = batch.cursor
        import_usage(self._ground, file.host, sessions, usages)
        record_catalogues(self._ground, catalogues.seen(is_whole_log=before.cursor is None))
        return _Swept(mark, cursor, list(sessions.values()), list(requests.values()))

    def _store_began_at(self) -> datetime | None:
        first = next(iter(self._ground.log.page(0, 1)), None)
        return datetime.fromisoformat(first.at) if isinstance(first, EventRow) else None

    def _load(self) -> _State:
        # Without it a run reads these files again, and stores nothing twice.
        state = cached.load(self._state_file, _State)
        return state if state is not None and state.version == READING_VERSION else _State()


def _is_newer(file: LogFile, moment: datetime) -> bool:
    try:
        return Path(file.path).stat().st_mtime >= moment.timestamp()
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
