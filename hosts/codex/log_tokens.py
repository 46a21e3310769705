"""Codex's rollouts, read for their tokens alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.hosts.codex.log_state import RolloutState
from tokeneconomizer.hosts.codex.log_thread import Thread, thread_in_name
from tokeneconomizer.hosts.codex.log_usage import USAGE_MARKERS, UsageReader
from tokeneconomizer.hosts.fields import mapping, text
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record


def read_tokens(path: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield the tokens that are new in a file; see `hosts.log_format.LogFormat.read`."""
    thread_id = thread_in_name(path)
    return read_lines(path, lambda state: TokenReader(thread_id, state), cursor, Wanted.USAGE)


class TokenReader:
    """Folds the lines of one file; see `hosts.log_format.LineReader`."""

    USAGE_MARKERS = USAGE_MARKERS
    RECORD_MARKERS: tuple[bytes, ...] = ()

    def __init__(self, thread_id: str, state: State) -> None:
        self._state = msgspec.convert(state, RolloutState) if state else RolloutState(thread_id=thread_id)
        self._thread = Thread(self._state)
        self.usage = UsageReader(self._state, self._thread).read

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:  # noqa: ARG002 - of the protocol
        """Return nothing: these need more imports than tokens do."""
        return []

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object found within a damaged line is a whole line."""
        return bool(text(found, "type") and text(found, "timestamp") and mapping(found, "payload"))

    def state(self) -> State:
        """Return what the next line needs."""
        state: State = msgspec.to_builtins(self._state)
        return state
