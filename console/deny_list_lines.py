"""Where deny lists stand, in words and as JSON values, from the view alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tokeneconomizer.console import output
from tokeneconomizer.domain.deny_list import GIT_LIST
from tokeneconomizer.domain.prune_evidence import wait_s
from tokeneconomizer.projections import prune_evidence

if TYPE_CHECKING:
    import sqlite3

    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.projections.prune_evidence import ListLine
    from tokeneconomizer.scheduler.deny_lists import Answer


SECONDS_PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class DenyListLine:
    """
    Where one checkout's list stands.

    Attributes:
        minutes_left: how long the repository must stay idle still, by its newest event; None: nothing waits.
        refused: reason and detail of the newest write, or None.

    """

    host: str
    checkout: str
    repository: str
    state: str
    proposed: list[str]
    pending: list[str]
    approved_by: str
    minutes_left: int | None
    written: list[str]
    refused: dict[str, str] | None

    @property
    def names(self) -> str:
        """The names in one line, by what is to become of them."""
        lists = (("proposed", self.proposed), ("pending", self.pending), ("written", self.written))
        return "; ".join(f"{word}: {', '.join(names)}" for word, names in lists if names)

    @property
    def refusal(self) -> str:
        """Why the list was not written, in one line."""
        return "" if self.refused is None else f"{self.refused['reason']}: {self.refused['detail']}"

    def to_json(self) -> dict[str, object]:
        """Return all of it as JSON values."""
        return asdict(self)


def tell_git_list(answer: Answer) -> None:
    """Say why git's own list of ignored files was left as it was, if it had to be changed."""
    refused = answer.git_list_refused
    if refused is not None:
        output.say(f"{GIT_LIST} is left as it was ({refused.reason}): {refused.detail}")


def deny_list_lines(
    connection: sqlite3.Connection, configuration: Configuration, now: datetime
) -> list[DenyListLine]:
    """Return all lists about which there is something to say."""
    lines = prune_evidence.lists(connection)
    return [
        line_of(connection, line, configuration, now)
        for line in lines
        if line.names or line.written or line.refusal
    ]


def line_of(
    connection: sqlite3.Connection, line: ListLine, configuration: Configuration, now: datetime
) -> DenyListLine:
    """Return where one list stands."""
    is_pending = bool(line.approved_at)
    return DenyListLine(
        host=line.host,
        checkout=line.checkout,
        repository=line.repository,
        state=line.state,
        proposed=[] if is_pending else line.names,
        pending=line.names if is_pending else [],
        approved_by=line.approved_by,
        minutes_left=_minutes_left(connection, line, configuration, now) if is_pending else None,
        written=line.written,
        refused={"reason": line.refusal, "detail": line.detail} if line.refusal else None,
    )


def _minutes_left(
    connection: sqlite3.Connection, line: ListLine, configuration: Configuration, now: datetime
) -> int:
    idle_minutes = int(configuration.get("prune.idle_minutes", host=line.host, repository=line.repository))
    cached_s = prune_evidence.longest_cached_s(connection, line.host, line.repository)
    wait = math.ceil(wait_s(idle_minutes, cached_s) / SECONDS_PER_MINUTE)
    newest = prune_evidence.last_activity(connection, line.repository)
    if not newest:
        return wait
    passed_s = (now - datetime.fromisoformat(newest)).total_seconds()
    return max(0, min(wait, wait - int(passed_s // SECONDS_PER_MINUTE)))
