"""
Rendering blocks: after a session was archived, one repository after the other, from the view of facts.

What was rendered is fixed by its event. It also lies on disk, where the hook client finds it while no daemon
answers: `repos/<repository>/<agent>/facts.md`, to which `repos/starts.json` leads from trusted checkouts.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.facts.block import RULES_VERSION, evidence_of, lines_of, text_of, within_limit
from tokeneconomizer.domain.facts.standing import still_holds
from tokeneconomizer.domain.identity import safe_folder_name
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.projections import microskill_queries as queries
from tokeneconomizer.scheduler.checkout_files import reader_of
from tokeneconomizer.writers.whole_file import make_own_folder, write_cache

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from datetime import datetime

    from tokeneconomizer.domain.facts.block import Line
    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.scheduler.application import Application
    from tokeneconomizer.scheduler.fact_policy import FactPolicy
    from tokeneconomizer.scheduler.home import Home

CHECKOUTS_MAX = 20
"""Worktrees of one repository that a start on disk leads from: the newest ones."""


def block_lines(
    connection: sqlite3.Connection, repository: str, policy: FactPolicy, checkout: str | None = None
) -> list[Line]:
    """
    Return what a repository's next block would say.

    Args:
        connection: of the view `microskills`.
        repository: its identity.
        policy: how long the block may be, and whether it holds what was proposed.
        checkout: whose files are looked at; without one, the newest that is still there.

    """
    facts = queries.facts_in(connection, repository, with_proposals=policy.takes_proposals(repository))
    checkouts = [checkout] if checkout else queries.checkouts_of(connection, repository)[:CHECKOUTS_MAX]
    read = reader_of(checkouts)
    lines = lines_of(facts, (lambda fact: still_holds(fact, read)) if read else lambda _: True)
    return within_limit(lines, policy.block_characters(repository))


class FactBlocks:
    """
    Renders what is due, and keeps the starts on disk as the configuration wants them.

    Args:
        home: where the blocks lie.
        application: stores what was rendered.
        policy: who is given facts.

    """

    def __init__(self, home: Home, application: Application, policy: FactPolicy) -> None:
        self._starts = StartsOnDisk(home)
        self._application = application
        self._policy = policy
        self._done: dict[str, int] = {}
        self._written_under: tuple[Configuration, list[int]] | None = None

    def keep_up(
        self, connection: sqlite3.Connection, now: datetime, may_go_on: Callable[[], bool] = lambda: True
    ) -> int:
        """
        Render the blocks that are due, as long as there is time; return how many repositories were looked at.

        Args:
            connection: of the view `microskills`, which knows all events.
            now: the time of what is stored.
            may_go_on: asked before each repository after the first.

        """
        self._follow_configuration(connection)
        looked_at = 0
        for repository, position in queries.due(connection):
            if self._done.get(repository) == position:
                continue
            if looked_at and not may_go_on():
                break
            self._render(connection, repository, position, now)
            self._done[repository] = position
            looked_at += 1
        return looked_at

    def _follow_configuration(self, connection: sqlite3.Connection) -> None:
        in_force = (self._policy.configuration(), self._starts.stamp())
        if in_force == self._written_under:
            return
        self._written_under = in_force
        for repository, text in queries.blocks(connection):
            self._write_starts(connection, repository, text)

    def _render(self, connection: sqlite3.Connection, repository: str, position: int, now: datetime) -> None:
        for other in queries.moved_from(connection, repository):
            self._application.identity_linked(repository, other, now)
        lines = block_lines(connection, repository, self._policy)
        text = text_of(lines)
        if text != queries.block_of(connection, repository).text:
            self._application.block_rendered(
                repository,
                now,
                text=text,
                facts=evidence_of(lines),
                log_position=position,
                rules=RULES_VERSION,
            )
        self._write_starts(connection, repository, text)

    def _write_starts(self, connection: sqlite3.Connection, repository: str, text: str) -> None:
        checkouts = queries.checkouts_of(connection, repository)[:CHECKOUTS_MAX]
        self._starts.write(repository, text, checkouts, self._policy.refusal)


@dataclass(frozen=True, slots=True)
class StartsOnDisk:
    """What the hook client answers a start with while no daemon does."""

    home: Home

    def write(
        self, repository: str, text: str, checkouts: list[str], refusal: Callable[[str, Place], str]
    ) -> None:
        """Put a repository's block where the starts of its trusted checkouts find it; take it from others."""
        starts = self._starts()
        for host in HOSTS:
            file = f"{safe_folder_name(repository)}/{host}/facts.md"
            path = self.home.repositories / file
            if text:
                make_own_folder(path.parent)
                write_cache(path, text.encode("utf-8", "replace"))
            else:
                path.unlink(missing_ok=True)
            for checkout in checkouts:
                known = starts.setdefault(checkout, {})
                known.pop(host, None)
                if text and not refusal(host, Place(repository, checkout)):
                    known[host] = file
        kept = {checkout: known for checkout, known in starts.items() if known}
        make_own_folder(self.home.repositories)
        content = {"configuration": self.stamp(), "checkouts": kept}
        write_cache(self.home.starts, json.dumps(content, sort_keys=True).encode())

    def stamp(self) -> list[int]:
        """Return what tells the file of the configuration from a later one."""
        try:
            found = self.home.config.stat()
        except OSError:
            return []
        return [found.st_mtime_ns, found.st_size]

    def _starts(self) -> dict[str, dict[str, str]]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self.home.starts.read_bytes())["checkouts"]
            if isinstance(found, dict):
                return found
        return {}
