"""Claude Code's transcripts, read line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.log_records import RECORD_MARKERS, RecordReader
from tokeneconomizer.hosts.claude_code.log_session import SessionReader, meta_of, names_of
from tokeneconomizer.hosts.claude_code.log_usage import USAGE_MARKERS, UsageReader
from tokeneconomizer.hosts.fields import text
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record

LINE_TYPES = frozenset(
    {"api-request-shape", "assistant", "attachment", "cost-state"}
    | {"progress", "queue-operation", "system", "user"}
)
"""The lines from which something is read; each names its session."""


def read_transcript(path: Path, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new behind the cursor; see `hosts.log_format.LogFormat.read`."""
    needs_meta = wanted is Wanted.ALL

    def make_reader(state: State) -> TranscriptReader:
        return TranscriptReader(path, state, needs_meta=needs_meta)

    return read_lines(str(path), make_reader, cursor, wanted)


class TranscriptReader:
    """Folds the lines of one file; see `hosts.log_format.LineReader`."""

    USAGE_MARKERS: tuple[bytes, ...] = USAGE_MARKERS
    RECORD_MARKERS: tuple[bytes, ...] = RECORD_MARKERS

    def __init__(self, path: Path, state: State, *, needs_meta: bool = True) -> None:
        names = names_of(path)
        meta = meta_of(path) if needs_meta and names.agent_id else ("", "")
        self._usage = UsageReader(names.session_id, names.agent_id, state)
        self._session = SessionReader(names, meta, state)
        self._records = RecordReader(self._session, self._usage.is_copy, state)

    def usage(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens that a line holds."""
        return self._usage.read(raw)

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return all other records that a line holds."""
        return list(self._records.read(number, line))

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object found within a damaged line is a line of its own."""
        return text(found, "type") in LINE_TYPES and bool(text(found, "sessionId"))

    def state(self) -> State:
        """Return what the next line needs."""
        return {**self._usage.state(), **self._session.state(), **self._records.state()}
