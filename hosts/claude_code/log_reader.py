"""Claude Code's transcripts, read line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.log_records import RECORD_MARKERS, RecordReader
from tokeneconomizer.hosts.claude_code.log_session import SessionReader, meta_of
from tokeneconomizer.hosts.claude_code.log_tokens import TokenReader
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record


def read_all(path: Path, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield what is new behind the cursor; see `hosts.log_format.LogFormat.read`."""
    return read_lines(str(path), lambda state: TranscriptReader(path, state), cursor, Wanted.ALL)


class TranscriptReader(TokenReader):
    """Reads all other records as well."""

    RECORD_MARKERS = RECORD_MARKERS

    def __init__(self, path: Path, state: State, *, needs_meta: bool = True) -> None:
        super().__init__(path, state)
        meta = meta_of(path) if needs_meta and self._names.agent_id else ("", "")
        self._session = SessionReader(self._names, meta, state)
        self._records = RecordReader(self._session, self._usage.is_copy, state)

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return all records that a line holds besides tokens."""
        return list(self._records.read(number, line))

    def state(self) -> State:
        """Return what the next line needs."""
        return {**super().state(), **self._session.state(), **self._records.state()}
