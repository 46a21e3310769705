"""Pi's sessions, read entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.fields import moment, text
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines
from tokeneconomizer.hosts.pi.log_entries import records_of
from tokeneconomizer.hosts.pi.log_tokens import TokenReader, session_id_of
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession, SessionOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record


def read_all(path: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    session_id = session_id_of(path)
    return read_lines(path, lambda state: EntryReader(session_id, state), cursor, Wanted.ALL)


class EntryReader(TokenReader):
    """Reads all other records as well."""

    RECORD_MARKERS: tuple[bytes, ...] = (b'"message"', b'"session"', b'"compaction"')

    def __init__(self, session_id: str, state: State) -> None:
        super().__init__(session_id, state)
        self._is_told = bool(state.get("told"))

    def state(self) -> State:
        """Return what the next line needs."""
        return {**super().state(), "told": self._is_told}

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return what an entry tells besides tokens."""
        at = moment(line, "timestamp")
        if text(line, "type") == "session":
            return [self._session(number, at)]
        found = records_of(number, line)
        if self._is_copy(at):
            # The tools that the parent had are those that a fork begins with.
            found = [record for record in found if isinstance(record, LoggedCatalogue)]
        return [self._session(number, at), *found] if found and not self._is_told else found

    def _session(self, number: int, at: datetime | None) -> LoggedSession:
        self._is_told = True
        return LoggedSession(
            line=number,
            at=at,
            session_id=self._session_id,
            origin=SessionOrigin.FORK if self._parent else SessionOrigin.NEW,
            parent=self._parent,
            folder=self._folder,
        )
