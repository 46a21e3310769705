"""What an agent's own log tells, in neutral records, in the order of its lines; lines count from 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from tokeneconomizer.domain.commands import PromptKind
    from tokeneconomizer.domain.digests import Call


@dataclass(frozen=True, slots=True)
class LoggedPrompt:
    """A prompt opens a turn."""

    line: int
    at: datetime | None
    prompt_id: str
    text: str
    kind: PromptKind


@dataclass(frozen=True, slots=True)
class LoggedStep:
    """
    The calls of one model reply, all back.

    Attributes:
        lines: for each call, the line that holds it.
        last_line: the line of the last result.

    """

    calls: tuple[Call, ...]
    lines: tuple[int, ...]
    last_line: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class LoggedStop:
    """The turn is over; `reason` as in EndTurn."""

    line: int
    at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line that cannot be read; it loses only itself."""

    line: int


Record = LoggedPrompt | LoggedStep | LoggedStop | SkippedLine
