"""What `te status` knows: gathered without the event library, so that it answers at once."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.console import daemon_process, output
from tokeneconomizer.console.deny_list_lines import deny_list_lines
from tokeneconomizer.console.installations.codex_hooks import codex_trouble
from tokeneconomizer.console.state import configuration_or_problem, view_of
from tokeneconomizer.console.words import language_of
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections import counters, prune_evidence
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.store_guard import trouble_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokeneconomizer.console.daemon_process import DaemonState
    from tokeneconomizer.console.deny_list_lines import DenyListLine
    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.projections.counters import Counts, SessionLine
    from tokeneconomizer.scheduler.home import Home

SESSIONS_LOOKED_AT = 1_000
"""Months of work: an agent that is in none of them has not been heard lately."""

ACTIVE_MINUTES = 60
"""A turn without any event for that long belongs to an agent that is gone: its prompt cache is, too."""

PARTS = ("loopguard", "microskills", "toolprune", "judge")
"""The settings that turn a part of the program on or off."""


@dataclass(frozen=True, slots=True)
class Part:
    """
    A part of the program.

    Attributes:
        name: its setting.
        value: what it is set to everywhere.

    """

    name: str
    value: str


@dataclass(slots=True)
class Overview:
    """
    One home at one moment; None is what is not known.

    Attributes:
        language: of the labels, `en` or `zh`.
        heard: agent -> ISO 8601 time of its newest event.
        active: sessions with an open turn and an event in the last ACTIVE_MINUTES.
        sessions: the newest ones.
        redirects_by_rule: rule -> redirects that arrived.
        deny_lists: those about which there is something to say.
        set_aside: events that a view could not take.
        troubles: why something is not known or not up to date.

    """

    home: str
    language: str
    program_version: str
    daemon: DaemonState
    parts: list[Part]
    configuration_problem: str
    spool_waiting: int | None
    spool_refused: int | None
    heard: dict[str, str] | None = None
    active: int | None = None
    sessions: list[SessionLine] | None = None
    counts: Counts | None = None
    redirects_by_rule: dict[str, int] | None = None
    deny_lists: list[DenyListLine] | None = None
    set_aside: int | None = None
    troubles: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return all of it as JSON values."""
        return asdict(self)


def overview_of(home: Home, now: datetime) -> Overview:
    """Return how a home is; a home without events leaves the numbers unknown."""
    configuration, problem = configuration_or_problem()
    overview = Overview(
        home=str(home.root),
        language=language_of(configuration, os.environ),
        program_version=output.program_version(),
        daemon=daemon_process.state_of(home),
        parts=_parts(configuration),
        configuration_problem=problem,
        spool_waiting=calls_waiting(home),
        spool_refused=files_in(home.refused),
    )
    daemon = overview.daemon
    told = (
        trouble_with(home),
        _failing(daemon),
        daemon.judge_problem,
        daemon.proposer_problem,
        codex_trouble(home, Path.home(), os.environ),
    )
    overview.troubles += [text for text in told if text]
    if home.events.exists():
        _count(overview, home, now)
    else:
        overview.set_aside = 0
    return overview


def calls_waiting(home: Home) -> int | None:
    """Return how many answered calls are yet to be stored, or None when that cannot be read."""
    spooled = files_in(home.spool)
    try:
        return None if spooled is None else spooled + (home.kept.stat().st_size > 0)
    except FileNotFoundError:
        return spooled


def files_in(folder: Path) -> int | None:
    """Return how many finished files lie in a folder of ours, or None when it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sum(not entry.name.startswith(".") and entry.is_file() for entry in entries)
    except FileNotFoundError:
        return 0
    except OSError:
        return None


def _failing(daemon: DaemonState) -> str:
    if not daemon.store_problem:
        return ""
    return (
        f"the daemon cannot store events ({daemon.store_problem}), hook calls wait in the spool: see that "
        "the disk has room and that no other program holds the store, then `te doctor`"
    )


def _parts(configuration: Configuration) -> list[Part]:
    return [Part(name, str(configuration.get(name))) for name in PARTS]


def _count(overview: Overview, home: Home, now: datetime) -> None:
    """Add what the views tell; what cannot be read stays unknown."""
    aside: set[int] = set()
    try:
        for projection in PROJECTIONS:
            with view_of(home, projection) as (view, trouble):
                aside.update(event.position for event in view.set_aside())
                if trouble and trouble not in overview.troubles:
                    overview.troubles.append(trouble)
                if projection.NAME == counters.NAME:
                    overview.counts = counters.totals(view.connection())
                    overview.redirects_by_rule = counters.redirects_by_rule(view.connection())
                    _see(overview, counters.sessions(view.connection(), SESSIONS_LOOKED_AT), now)
                elif projection.NAME == prune_evidence.NAME:
                    in_force, _ = configuration_or_problem()
                    overview.deny_lists = deny_list_lines(view.connection(), in_force, now)
    except TokeneconomizerError as error:
        overview.troubles.append(str(error))
    else:
        overview.set_aside = len(aside)


def newest_by_host(sessions: Iterable[SessionLine]) -> dict[str, str]:
    """Return when each agent was last heard, as ISO 8601."""
    newest: dict[str, str] = {}
    for session in sessions:
        newest[session.host] = max(session.last_at, newest.get(session.host, ""))
    return newest


def _see(overview: Overview, sessions: Sequence[SessionLine], now: datetime) -> None:
    overview.heard = newest_by_host(sessions)
    since = (now - timedelta(minutes=ACTIVE_MINUTES)).astimezone(UTC).isoformat()
    overview.active = sum(session.turn_is_open and session.last_at >= since for session in sessions)
    overview.sessions = list(sessions[: counters.SESSIONS_SHOWN])
