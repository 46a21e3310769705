"""
Keeping the views up to date in the daemon: small batches, in the pauses between two hook calls.

The views of another schema are left to a rebuild; they answer meanwhile.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import StoreDamaged, TokeneconomizerError
from tokeneconomizer.projections import counters, envelope, prune_evidence
from tokeneconomizer.projections.errors import ViewUnusable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import is_superseded, open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.projections.view import said_in_words
from tokeneconomizer.scheduler.envelopes import Envelopes

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    import structlog

    from tokeneconomizer.projections.view import Projection, View
    from tokeneconomizer.scheduler.home import Home

PAUSE_S = 0.2
"""Hooks of one step come within milliseconds of each other; the views may be this much behind."""

BATCH_EVENTS = 50
"""About two milliseconds of work: a hook call that comes meanwhile does not notice it."""


@dataclass(frozen=True, slots=True)
class Answers:
    """
    What the daemon's timers ask of the views.

    Attributes:
        silent_since: the streams that are not archived and were last heard before a moment (ISO 8601).
        all_archived: whether nothing more is expected of any session.
        lists_pending: whether a deny list waits to be written.

    """

    silent_since: Callable[[str], list[str]]
    all_archived: bool
    lists_pending: bool = False


class Folding:
    """
    Folds what is new, soon after it was stored.

    Args:
        home: whose events and views.
        log: the daemon's log.
        damaged: told when the events cannot be read any more.
        envelopes: kept as the view of that name has them.

    """

    def __init__(
        self,
        home: Home,
        log: structlog.stdlib.BoundLogger,
        damaged: Callable[[Exception], None] = lambda _: None,
        envelopes: Envelopes | None = None,
    ) -> None:
        self._home = home
        self._log = log
        self._damaged = damaged
        self._envelopes = envelopes or Envelopes()
        self._told: dict[str, str] = {}
        self._events = EventLog(home.events)
        self._views: dict[str, View] = {}
        self._due: asyncio.TimerHandle | None = None

    def soon(self) -> None:
        """Fold after a pause; further calls until then change nothing."""
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(PAUSE_S, self._fold)

    def answers(self) -> Answers | None:
        """Return what the views know, or None while they are behind the events or cannot be used."""
        try:
            view = self._up_to_date(counters)
            if view is None:
                return None
            with said_in_words(view.path, view.projection):
                connection = view.connection()
                return Answers(
                    lambda moment: counters.silent_since(connection, moment),
                    all_archived=counters.are_all_archived(connection),
                    lists_pending=self._lists_pending(),
                )
        except TokeneconomizerError as error:
            self._tell("view not asked", counters, error)
            return None

    @contextmanager
    def asked(self, projection: Projection) -> Iterator[sqlite3.Connection | None]:
        """Give what a view's queries run on, or None while it is behind the events or cannot be used."""
        try:
            view = self._up_to_date(projection)
        except ViewUnusable as error:
            self._tell("view not asked", projection, error)
            view = None
        if view is None:
            yield None
            return
        try:
            with said_in_words(view.path, view.projection):
                yield view.connection()
        except ViewUnusable as error:
            self._tell("view not asked", projection, error)

    def _up_to_date(self, projection: Projection) -> View | None:
        view = self._view_of(projection)
        return None if view.is_outdated or view.position() < self._events.last_position() else view

    def _lists_pending(self) -> bool:
        view = self._view_of(prune_evidence)
        with said_in_words(view.path, view.projection):
            return not view.is_outdated and prune_evidence.are_lists_pending(view.connection())

    def close(self) -> None:
        """Let go of the views and the log."""
        if self._due is not None:
            self._due.cancel()
        for view in self._views.values():
            view.close()
        self._events.close()

    def _fold(self) -> None:
        self._due = None
        for projection in PROJECTIONS:
            try:
                taken = self._view_of(projection).catch_up(self._events, batch=BATCH_EVENTS, max_batches=1)
            except StoreDamaged as error:
                self._damaged(error)
                return
            except TokeneconomizerError as error:
                self._tell("view not folded", projection, error)
                continue
            self._told.pop(projection.NAME, None)
            if projection is envelope and (taken or not self._envelopes.are_known):
                self._refresh_envelopes()
            if taken == BATCH_EVENTS:
                self.soon()

    def _refresh_envelopes(self) -> None:
        view = self._view_of(envelope)
        if view.is_outdated:
            return
        try:
            with said_in_words(view.path, view.projection):
                self._envelopes.refresh(view.connection())
        except TokeneconomizerError as error:
            self._tell("view not asked", envelope, error)

    def _tell(self, what: str, projection: Projection, error: Exception) -> None:
        # The same words once, not after each hook call that meets them.
        if self._told.get(projection.NAME) != str(error):
            self._told[projection.NAME] = str(error)
            self._log.warning(what, view=projection.NAME, reason=str(error))

    def _view_of(self, projection: Projection) -> View:
        view = self._views.get(projection.NAME)
        if view is not None and is_superseded(view):
            view.close()
            view = None
        if view is None:
            view = self._views[projection.NAME] = open_view(self._home.views, projection)
        return view
