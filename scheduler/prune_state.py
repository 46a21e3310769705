"""What is known of the tools of each checkout: evidence, catalogue, protection, verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.prune_evidence import (
    COOL_DOWN_DAYS,
    Judged,
    OfferedTool,
    PruneLimits,
    Unit,
    Verdict,
    catalog_from_json,
    judge,
    silence_since,
)
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.projections import prune_evidence
from tokeneconomizer.scheduler.protected_tools import tools_allowed_in

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from datetime import datetime

    from tokeneconomizer.domain.deny_list import DenyTarget
    from tokeneconomizer.domain.settings import Configuration
    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.projections.prune_evidence import ListLine, UseLine

KEEP_KEY = "prune.keep"


@dataclass(frozen=True, slots=True)
class Checkout:
    """
    An agent's checkout with what is known of its tools.

    Attributes:
        mode: `off`, `suggest` or `auto`.
        line: where its list stands; None before anything happened to it.
        is_assumed: whether the catalogue is what the agent loads by default.
        asked_for: the denied names that were used, or named in a prompt, since they were denied.

    """

    host: str
    repository: str
    path: str
    mode: str
    line: ListLine | None
    judged: tuple[Judged, ...]
    is_assumed: bool
    asked_for: list[str]

    @property
    def unused(self) -> list[Judged]:
        """The units that may be proposed."""
        return [one for one in self.judged if one.verdict is Verdict.UNUSED]

    @property
    def characters_saved(self) -> int:
        """What their denial saves in each request of a new session, as far as it is known."""
        return sum(one.unit.characters or 0 for one in self.unused)


class PruneState:
    """
    Reads the view of the evidence.

    Args:
        connection: of the view `prune_evidence`.
        configuration: in force.
        homes: where the agents' own files are.

    """

    def __init__(
        self, connection: sqlite3.Connection, configuration: Configuration, homes: AgentHomes
    ) -> None:
        self._connection = connection
        self._configuration = configuration
        self._homes = homes
        self._lines = {(line.host, line.checkout): line for line in prune_evidence.lists(connection)}

    def checkouts(self, now: datetime) -> list[Checkout]:
        """Return all checkouts that still stand, by agent and path."""
        known = {
            **{
                (host, path): repository
                for host, repository, path in prune_evidence.checkouts(self._connection)
            },
            **{key: line.repository for key, line in self._lines.items()},
        }
        return [
            self.checkout(host, repository, path, now)
            for (host, path), repository in sorted(known.items())
            if host in TARGETS and Path(path).is_dir()
        ]

    def checkout(self, host: str, repository: str, path: str, now: datetime) -> Checkout:
        """Return what is known of one checkout."""
        line = self._lines.get((host, path))
        mode = str(self._configuration.get("toolprune", host=host, repository=repository))
        tools = catalog_from_json(line.catalog) if line is not None else []
        is_assumed = not tools
        if is_assumed:
            assumed = TARGETS[host].assumed.items()
            tools = [OfferedTool(name, characters=size, assumed=True) for name, size in assumed]
        judged = self._judge(host, repository, path, tools, now)
        asked_for = [] if line is None else self._asked_for(line)
        return Checkout(host, repository, path, mode, line, judged, is_assumed, asked_for)

    def _asked_for(self, line: ListLine) -> list[str]:
        place = (line.host, line.repository)
        uses = prune_evidence.uses(self._connection, *place)
        wanted = {
            TARGETS[line.host].unit_of(use.tool, use.server) for use in uses if use.last_at > line.written_at
        }
        named = prune_evidence.named(self._connection, *place).items()
        wanted.update(_units_of(line.host, [name for name, at in named if at > line.written_at]))
        return [name for name in line.written if name in wanted]

    def _judge(
        self, host: str, repository: str, path: str, tools: list[OfferedTool], now: datetime
    ) -> tuple[Judged, ...]:
        limits = PruneLimits.under(self._configuration, host=host, repository=repository)
        prompts = prune_evidence.prompts(self._connection, host, repository)
        uses = _by_unit(host, prune_evidence.uses(self._connection, host, repository))
        protection = self._protection(host, repository, path, now)
        judged = []
        for unit in _units(host, tools):
            of_unit = uses.get(unit.name, [])
            last_use = max((use.last_at for use in of_unit), default="")
            silence = silence_since(last_use, prompts, sum(use.uses for use in of_unit))
            why = unit.protected or protection.get(unit.name)
            if why is None and any(use.is_open for use in of_unit):
                why = Verdict.RESUMABLE
            judged.append(judge(Unit(unit.name, unit.characters, unit.assumed, why), silence, limits))
        return tuple(judged)

    def _protection(self, host: str, repository: str, path: str, now: datetime) -> dict[str, Verdict]:
        """Return why units are not proposed, whatever the evidence; the first reason is the one told."""
        line = self._lines.get((host, path))
        cooled = (now - timedelta(days=COOL_DOWN_DAYS)).isoformat()
        restored = prune_evidence.restored(self._connection, ToolPrune.create_id(host, path).hex).items()
        kept = str(self._configuration.get(KEEP_KEY, host=host, repository=repository))
        named = prune_evidence.named(self._connection, host, repository)
        reasons: tuple[tuple[Verdict, Iterable[str]], ...] = (
            (Verdict.DENIED, line.written if line is not None else []),
            (Verdict.KEPT, kept.replace(",", " ").split()),
            (Verdict.TAKEN_BACK, [name for name, at in restored if at > cooled]),
            (Verdict.NAMED, _units_of(host, named)),
            (Verdict.ALLOWED, _units_of(host, tools_allowed_in(Path(path), self._homes))),
        )
        return {name: verdict for verdict, names in reversed(reasons) for name in names}


def _units(host: str, tools: Iterable[OfferedTool]) -> list[Unit]:
    """Group a catalogue by what can be denied as one; what has no name to be denied by is left out."""
    target = TARGETS[host]
    of_unit: dict[str, list[OfferedTool]] = {}
    for tool in tools:
        name = tool.name if tool.assumed else target.unit_of(tool.name, tool.server)
        if name:
            of_unit.setdefault(name, []).append(tool)
    return [_unit(target, name, members) for name, members in sorted(of_unit.items())]


def _unit(target: DenyTarget, name: str, tools: list[OfferedTool]) -> Unit:
    loaded = [tool for tool in tools if tool.loaded]
    sizes = [tool.characters for tool in loaded if tool.characters is not None]
    characters = sum(sizes) if sizes else target.assumed.get(name)
    is_assumed = characters is not None and (any(tool.assumed for tool in tools) or not sizes)
    protected = None
    if name in target.core:
        protected = Verdict.CORE
    elif not loaded:
        characters, protected = 0, Verdict.SAVES_NOTHING
    return Unit(name, characters, is_assumed, protected)


def _by_unit(host: str, uses: Iterable[UseLine]) -> dict[str, list[UseLine]]:
    of_unit: dict[str, list[UseLine]] = {}
    for use in uses:
        of_unit.setdefault(TARGETS[host].unit_of(use.tool, use.server), []).append(use)
    return of_unit


def _units_of(host: str, names: Iterable[str]) -> list[str]:
    """Return names of tools with the units that they belong to; a server may be named as such."""
    return [unit for name in names for unit in (name, TARGETS[host].unit_of(name, "")) if unit]
