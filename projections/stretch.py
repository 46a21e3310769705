"""The next events of the log, decoded one by one as a fold asks for them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections.event_rows import Unreadable, decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.projections.event_log import EventLog
    from tokeneconomizer.projections.event_rows import FoldedRow
    from tokeneconomizer.projections.view import Projection

FOLD_PAGE_EVENTS = 250
"""So many rows stay in a processor's cache; larger pages are no faster."""


class Stretch:
    """
    The events that one batch takes.

    Args:
        log: the events.
        after: the position of the newest event taken before.
        limit: at most so many events.
        until: none behind this position.

    Attributes:
        last: the position of the newest event gone through, the unreadable ones included.
        count: how many they are.
        unreadable: those of them that cannot be read.
        error: why the log ended early, or None.

    """

    def __init__(self, log: EventLog, after: int, limit: int, until: int | None = None) -> None:
        self._log = log
        self._after = after
        self._limit = limit
        self._until = until
        self._begin()

    def _begin(self) -> None:
        self.last = self._after
        self.count = 0
        self.unreadable: list[Unreadable] = []
        self.error: TokeneconomizerError | None = None

    def rows(self, projection: Projection) -> Iterator[FoldedRow]:
        """Go through the events as the projection wants them; may be called again, to begin anew."""
        # Chained there is no frame of ours between an event's decoding and its fold.
        return chain.from_iterable(self._pages(projection))

    def _pages(self, projection: Projection) -> Iterator[Iterator[FoldedRow]]:
        self._begin()
        while self.count < self._limit:
            limit = min(self._limit - self.count, FOLD_PAGE_EVENTS)
            try:
                page = self._log.raw_page(self.last, limit)
            except TokeneconomizerError as error:
                self.error = error
                return
            if isinstance(page, Unreadable):
                self.unreadable.append(page)
                last, count = page.position, 1
            else:
                rows = page if self._until is None else [row for row in page if row[0] <= self._until]
                if not rows:
                    return
                yield decode(rows, projection.DECODED, self.unreadable)
                last, count = rows[-1][0], len(rows)
            self.count += count
            self.last = last
