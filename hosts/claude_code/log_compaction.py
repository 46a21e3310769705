"""A compaction in Claude Code's log: a line that says when and how large, then one with the summary."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tokeneconomizer.hosts.fields import count, mapping, moment, text
from tokeneconomizer.hosts.records import LoggedCompaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Begun(msgspec.Struct):
    line: int
    at: datetime | None
    trigger: str
    tokens_before: int | None
    tokens_after: int | None
    agent_id: str


_DECODER = msgspec.json.Decoder(_Begun)


class CompactionReader:
    """Joins the two lines; older logs have the summary alone."""

    def __init__(self, state: str) -> None:
        self._begun = _DECODER.decode(state) if state else None

    def state(self) -> str:
        """Return what the next line needs."""
        return msgspec.json.encode(self._begun).decode() if self._begun else ""

    def boundary(self, number: int, line: Mapping[str, object], agent_id: str) -> None:
        """Take the line that says when and how large."""
        details = mapping(line, "compactMetadata")
        self._begun = _Begun(
            line=number,
            at=moment(line, "timestamp"),
            trigger=text(details, "trigger"),
            tokens_before=count(details, "preTokens"),
            tokens_after=count(details, "postTokens"),
            agent_id=agent_id,
        )

    def summary(
        self, number: int, at: datetime | None, characters: int, agent_id: str
    ) -> Iterator[LoggedCompaction]:
        """Take the summary; yield the compaction."""
        begun = self._begun or _Begun(number, at, "", None, None, agent_id)
        self._begun = None
        yield _compaction(begun, characters)

    def over(self) -> Iterator[LoggedCompaction]:
        """Yield the compaction that no summary followed: another record does."""
        if self._begun is not None:
            begun, self._begun = self._begun, None
            yield _compaction(begun, 0)


def _compaction(begun: _Begun, characters: int) -> LoggedCompaction:
    return LoggedCompaction(
        line=begun.line,
        at=begun.at,
        trigger=begun.trigger,
        tokens_before=begun.tokens_before,
        tokens_after=begun.tokens_after,
        summary_characters=characters,
        agent_id=begun.agent_id,
    )
