"""Claude Code's transcripts, read for their tokens alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.log_session import names_of
from tokeneconomizer.hosts.claude_code.log_usage import USAGE_MARKERS, UsageReader
from tokeneconomizer.hosts.fields import text
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record

LINE_TYPES = frozenset(
    {"api-request-shape", "assistant", "attachment", "cost-state"}
    | {"progress", "queue-operation", "system", "user"}
)
"""The lines from which something is read; each names its session."""


def read_tokens(path: Path, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield the tokens that are new behind the cursor; see `hosts.log_format.LogFormat.read`."""
    return read_lines(str(path), lambda state: TokenReader(path, state), cursor, Wanted.USAGE)


class TokenReader:
    """Folds the lines of one file; see `hosts.log_format.LineReader`."""

    USAGE_MARKERS: tuple[bytes, ...] = USAGE_MARKERS
    RECORD_MARKERS: tuple[bytes, ...] = ()

    def __init__(self, path: Path, state: State) -> None:
        self._names = names_of(path)
        self._usage = UsageReader(self._names.session_id, self._names.agent_id, state)
        self.usage = self._usage.read

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:  # noqa: ARG002 - of the protocol
        """Return nothing: these need more imports than tokens do."""
        return []

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object found within a damaged line is a line of its own."""
        return text(found, "type") in LINE_TYPES and bool(text(found, "sessionId"))

    def state(self) -> State:
        """Return what the next line needs."""
        return self._usage.state()
