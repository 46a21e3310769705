"""
Walking the whole log: is each event the one that was stored, in its place, with nothing missing between.

Each row carries a keyed hash of the link before it and of itself. A row that does not fit is told once: the
walk goes on with the link that stands there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections.event_rows import Unreadable, decoded_page
from tokeneconomizer.scheduler.recorders import chain_link

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.event_rows import ChainedRow

FAULTS_KEPT = 20
"""What is wrong with the first ones tells what is wrong with all, and the walk's memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a position of the log, in words."""

    position: int
    words: str


@dataclass(slots=True)
class Verification:
    """
    What a walk found.

    Attributes:
        events: how many were read.
        last: the position of the newest one.
        faults: the first ones, in order.
        faults_found: how many there are.
        broken_links: how many of them are links that do not fit.

    """

    events: int = 0
    last: int = 0
    faults: list[Fault] = field(default_factory=list)
    faults_found: int = 0
    broken_links: int = 0

    @property
    def is_other_key(self) -> bool:
        """Whether no event at all fits: the key is another one than the events were stored with."""
        return self.events > 1 and self.broken_links == self.events

    def note(self, position: int, words: str) -> None:
        """Add a fault."""
        self.faults_found += 1
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(Fault(position, words))


def verify_events(
    log: EventLog, key: bytes, on_progress: Callable[[int], None] = lambda _: None
) -> Verification:
    """
    Walk the log from its first event to its newest, a page in memory at a time.

    Args:
        log: the events.
        key: the home's secret.
        on_progress: told the position after each page.

    Raises:
        StoreTooNew, StoreUnreachable: as the log says.

    """
    found = Verification()
    # The link before the next row; None where it cannot be known.
    link: bytes | None = b""
    last_given = log.last_given()
    try:
        while page := log.page_of_chain(found.last):
            if isinstance(page, Unreadable):
                found.note(found.last + 1, page.error)
                found.last, link = page.position, None
            else:
                for row in page:
                    link = _verify(found, row, link, key)
            on_progress(found.last)
    except StoreDamaged as error:
        found.note(
            found.last + 1, f"nothing behind event {found.last} can be read: {error.__cause__ or error}"
        )
        return found
    if found.last < last_given:
        found.note(found.last + 1, f"{_events(found.last + 1, last_given)} missing at the end")
    return found


def _verify(found: Verification, row: ChainedRow, link: bytes | None, key: bytes) -> bytes | None:
    position, stored = row[0], row[5]
    if position != found.last + 1:
        found.note(found.last + 1, f"{_events(found.last + 1, position - 1)} missing")
        link = None
    if link is not None and not _fits(row, link, key):
        found.broken_links += 1
        found.note(position, f"event {position} is not what was stored there")
    for entry in decoded_page([row[:5]]):
        if isinstance(entry, Unreadable):
            found.note(position, f"event {position} {entry.topic}: {entry.error}")
    found.events += 1
    found.last = position
    try:
        return bytes(stored)
    except TypeError:
        return None


def _fits(row: ChainedRow, link: bytes, key: bytes) -> bool:
    try:
        return row[5] == chain_link(key, link, row[1:5])
    except (TypeError, ValueError):
        # A changed row may hold anything in any column.
        return False


def _events(first: int, last: int) -> str:
    return f"event {first} is" if first == last else f"events {first} to {last} are"
