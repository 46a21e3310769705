"""Codex's rollouts, read line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex.log_records import RECORD_MARKERS, RecordReader
from tokeneconomizer.hosts.codex.log_thread import thread_in_name
from tokeneconomizer.hosts.codex.log_tokens import TokenReader
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record


def read_all(path: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    thread_id = thread_in_name(path)
    return read_lines(path, lambda state: RolloutReader(thread_id, state), cursor, Wanted.ALL)


class RolloutReader(TokenReader):
    """Reads all other records as well."""

    RECORD_MARKERS = RECORD_MARKERS

    def __init__(self, thread_id: str, state: State) -> None:
        super().__init__(thread_id, state)
        self._records = RecordReader(self._state, self._thread)

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return all records that a line holds besides tokens."""
        return self._records.read(number, line)
