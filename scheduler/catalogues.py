"""The tools that an agent offers in a checkout, from what its log shows while a session goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession
from tokeneconomizer.scheduler.import_turns import NO_TIME
from tokeneconomizer.scheduler.prune_changes import PruneChange, catalog_fields, request_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.hosts.records import LoggedTool, Record
    from tokeneconomizer.scheduler.importing import Ground

MCP_PREFIX = "mcp__"


@dataclass(slots=True)
class _Offered:
    session: LoggedSession
    at: datetime | None = None
    is_whole: bool = False
    tools: dict[str, LoggedTool] = field(default_factory=dict)

    def take(self, catalogue: LoggedCatalogue) -> None:
        """Take in what the log says of the tools."""
        self.at = catalogue.at or self.at
        if catalogue.whole:
            self.is_whole = True
            self.tools = {name: tool for name, tool in self.tools.items() if tool.deferred}
        for name in catalogue.removed:
            self.tools.pop(name, None)
        self.tools |= {tool.name: tool for tool in catalogue.tools}


@dataclass(frozen=True, slots=True)
class SeenCatalogue:
    """The tools of a session at the end of its log."""

    host: str
    session: LoggedSession
    at: datetime | None
    tools: tuple[OfferedTool, ...]

    def as_change(self) -> PruneChange:
        """Return what is to be stored of it."""
        return PruneChange("catalog_recorded", catalog_fields(self.tools, self.session.version))


class Catalogues:
    """
    Follows the tools of the main agents of one host's logs.

    Args:
        host: the agent.

    """

    def __init__(self, host: str) -> None:
        self.host = host
        self._session: LoggedSession | None = None
        self._offered: dict[str, _Offered] = {}

    def take(self, record: Record) -> None:
        """Take in a record of the log."""
        if isinstance(record, LoggedSession):
            self._session = record
        elif isinstance(record, LoggedCatalogue) and self._session is not None:
            session = self._session
            if record.agent_id or session.agent_id:
                return
            offered = self._offered.setdefault(session.session_id, _Offered(session))
            offered.session = session
            offered.take(record)

    def seen(self, *, is_whole_log: bool) -> list[SeenCatalogue]:
        """
        Return the catalogue of each session whose log shows tools.

        Of a log that was not read from its beginning only what it shows as whole counts.
        """
        return [
            SeenCatalogue(self.host, offered.session, offered.at, self._tools(offered))
            for offered in self._offered.values()
            if offered.tools and (is_whole_log or offered.is_whole)
        ]

    def _tools(self, offered: _Offered) -> tuple[OfferedTool, ...]:
        tools = [
            OfferedTool(tool.name, _server_of(tool.name), tool.characters, loaded=not tool.deferred)
            for tool in offered.tools.values()
        ]
        if not any(tool.loaded for tool in tools):
            # Only names that may be loaded later are shown: what this agent loads by default is known.
            assumed = TARGETS[self.host].assumed.items()
            tools += [OfferedTool(name, characters=size, assumed=True) for name, size in assumed]
        return tuple(tools)


def _server_of(name: str) -> str:
    return name.removeprefix(MCP_PREFIX).partition("__")[0] if name.startswith(MCP_PREFIX) else ""


def record_catalogues(ground: Ground, seen: Iterable[SeenCatalogue], *, only_first: bool = False) -> None:
    """
    Have catalogues stored, the newest of each checkout that still stands.

    Args:
        ground: the store, and the way into it.
        seen: what logs showed.
        only_first: whether a checkout that has a catalogue keeps it: history is older than what was heard.

    """
    newest: dict[tuple[str, str], tuple[Place, SeenCatalogue]] = {}
    for one in sorted(seen, key=lambda one: one.at or NO_TIME):
        place = ground.place_of(one.session)
        newest[one.host, place.checkout] = (place, one)
    for (host, checkout), (place, one) in newest.items():
        if not checkout or not Path(checkout).is_dir():
            continue
        if only_first and ground.log.first(ToolPrune.create_id(host, checkout).hex) is not None:
            continue
        ground.ask(request_of(host, place, [one.as_change()]))
