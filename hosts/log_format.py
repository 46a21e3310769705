"""What every agent's log reader offers: where its files are, and their records in bounded batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.records import Record

State = dict[str, str | int | float | bool | list[str] | None]
"""What a reader keeps between two lines of a file: small, flat, and the same after a round through JSON."""


@dataclass(frozen=True, slots=True)
class AgentHomes:
    """
    Where to look for the agents' own folders.

    Attributes:
        home: the user's home folder.
        environment: for the variables that move an agent's folder; empty when `--agents-home` was given.

    """

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class LogFile(NamedTuple):
    """
    A file, or an agent's database, that holds sessions.

    Attributes:
        form: for agents that write several: which one this is, else empty.

    """

    host: str
    path: str
    form: str = ""


class Cursor(NamedTuple):
    """
    How far a file was read, and what tells that it is still the same file.

    Attributes:
        inode, size, modified_ns: of the file when it was read.
        offset: bytes that were read and need not be read again.
        lines: lines before that offset.
        skipped: damaged lines among them.
        tail: hash of the last bytes before the offset.
        state: of the format's reader.

    """

    inode: int
    size: int
    modified_ns: int
    offset: int
    lines: int
    skipped: int
    tail: str
    state: State


@dataclass(frozen=True, slots=True)
class Batch:
    """
    Records of a stretch of a file; storing them and the cursor in one transaction makes each count once.

    Attributes:
        records: of whole lines.
        cursor: behind them.
        restarted: True when the file is another than the cursor's: what was read of it before is void.
        unfinished: records of a last line without its end; they come again once it has one.

    """

    records: list[Record]
    cursor: Cursor
    restarted: bool = False
    unfinished: list[Record] = field(default_factory=list)


class Wanted(StrEnum):
    """What to read: decoding less is many times faster."""

    ALL = "all"
    USAGE = "usage"


class LogFormat(Protocol):
    """One agent's logs; implemented by a module, not by a class."""

    NAME: str
    """The agent's name, as in `hosts.table`."""

    def files(self, homes: AgentHomes) -> list[LogFile]:
        """Return the files that hold sessions, in a stable order; none where the agent was never used."""
        ...

    def file_at(self, path: Path) -> LogFile:
        """Return a file that the user names as one of this agent's."""
        ...

    def mark(self, file: LogFile) -> str:
        """Return what differs whenever a new reading could find more: told without opening the file."""
        ...

    def read(self, file: LogFile, cursor: Cursor | None, wanted: Wanted) -> Iterator[Batch]:
        """
        Yield what is new behind the cursor; at least one batch, so that there is always a new cursor.

        A cursor goes on with what it was made by: a reading of tokens alone keeps less state.

        Raises:
            OSError: when the file cannot be read.

        """
        ...


class LineReader(Protocol):
    """Folds the lines of one file, in their order; made anew for each file, and from its state to go on."""

    USAGE_MARKERS: tuple[bytes, ...]
    """Bytes of which each line with tokens, or with what they need (a model's name), holds at least one."""

    RECORD_MARKERS: tuple[bytes, ...]
    """The same for all other records; spaces between a key and its value must not matter."""

    def usage(self, raw: bytes) -> list[UsageRecord]:
        """
        Return the tokens that a line holds; called for lines with a usage marker, before `records`.

        Raises:
            msgspec.DecodeError: when the line is damaged; fields of an unexpected type must not raise.

        """
        ...

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return all other records that a line holds."""
        ...

    def is_record(self, found: Mapping[str, object]) -> bool:
        """Return whether an object found within a damaged line is a whole line, not a part of one."""
        ...

    def state(self) -> State:
        """Return what the next line needs."""
        ...
