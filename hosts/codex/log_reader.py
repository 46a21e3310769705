"""Codex's rollouts, read line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.hosts.codex.log_records import RECORD_MARKERS, RecordReader
from tokeneconomizer.hosts.codex.log_state import RolloutState
from tokeneconomizer.hosts.codex.log_thread import Thread, thread_in_name
from tokeneconomizer.hosts.codex.log_usage import USAGE_MARKERS, UsageReader
from tokeneconomizer.hosts.fields import mapping, text
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.log_format import Batch, Cursor, State, Wanted
    from tokeneconomizer.hosts.records import Record


def read_rollout(path: str, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    thread_id = thread_in_name(path)
    return read_lines(path, lambda state: RolloutReader(thread_id, state), cursor, wanted)


class RolloutReader:
    """Folds the lines of one file; see `hosts.log_format.LineReader`."""

    USAGE_MARKERS = USAGE_MARKERS
    RECORD_MARKERS = RECORD_MARKERS

    def __init__(self, thread_id: str, state: State) -> None:
        self._state = msgspec.convert(state, RolloutState) if state else RolloutState(thread_id=thread_id)
        thread = Thread(self._state)
        self._usage = UsageReader(self._state, thread)
        self._records = RecordReader(self._state, thread)

    def usage(self, raw: bytes) -> list[UsageRecord]:
        """Return the tokens that a line holds."""
        return self._usage.read(raw)

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return all other records that a line holds."""
        return self._records.read(number, line)

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object found within a damaged line is a whole line."""
        return bool(text(found, "type") and text(found, "timestamp") and mapping(found, "payload"))

    def state(self) -> State:
        """Return what the next line needs."""
        state: State = msgspec.to_builtins(self._state)
        return state
