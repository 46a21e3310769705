"""The envelopes in force, in memory: the folding refreshes them, hook calls only look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.projections import envelope

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from tokeneconomizer.domain.guard.envelope import Envelope
    from tokeneconomizer.projections.envelope import Place


class Envelopes:
    """
    What green turns take, as far as it is folded.

    Attributes:
        are_known: whether the view was asked yet.

    """

    def __init__(self) -> None:
        self.are_known = False
        self._known: Mapping[Place, Envelope] = {}

    def of(self, repository: str, host: str) -> Envelope | None:
        """Return the envelope of a repository with an agent, if any of its green turns is known."""
        return self._known.get(envelope.Place(repository, host))

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Take over what the view of that connection knows."""
        self._known = envelope.envelopes(connection)
        self.are_known = True
