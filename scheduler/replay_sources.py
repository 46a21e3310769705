"""Where a replay takes its records from: any agent's log, or neutral lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts import neutral_calls
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.logs import LOGS
from tokeneconomizer.hosts.records import LoggedSession, SkippedLine
from tokeneconomizer.hosts.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tokeneconomizer.hosts.records import Record, ReplayRecord

SOURCES = (*LOGS, neutral_calls.NAME)
"""What a file can be."""


def records_of(path: Path, source: str) -> Iterator[ReplayRecord]:
    """
    Yield what a replay of a file needs: of a log the file's own agent, not the sub-agents within it.

    Raises:
        TokeneconomizerError: the file cannot be read.

    """
    try:
        if source == neutral_calls.NAME:
            with path.open("rb") as lines:
                yield from neutral_calls.read(lines)
        else:
            yield from _steps_of(_records(path, source))
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error}): name a file that you may read"
        raise TokeneconomizerError(message) from error


def _records(path: Path, source: str) -> Iterator[Record]:
    for batch in LOGS[source].read(LOGS[source].file_at(path), None, Wanted.ALL):
        yield from batch.records
        yield from batch.unfinished


def _steps_of(records: Iterable[Record]) -> Iterator[ReplayRecord]:
    steps, agent_id = Steps(), ""
    for record in records:
        if isinstance(record, LoggedSession):
            agent_id = record.agent_id
        if isinstance(record, LoggedSession | SkippedLine) or getattr(record, "agent_id", "") == agent_id:
            yield from steps.take(record)
    yield from steps.flush()
