"""
The tools that an agent offers in a checkout, from what its log shows while a session goes on.

Agents whose bridge tells them (`domain.commands.HookCommand.offered`), and those whose servers stand in files
(`scheduler.configured_servers`), come in by those doors as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.hosts.recognise import CLAUDE_CODE, CODEX
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.import_turns import NO_TIME
from tokeneconomizer.scheduler.prune_changes import catalog_recorded, request_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.hosts.records import LoggedTool, Record
    from tokeneconomizer.scheduler.importing import Ground
    from tokeneconomizer.scheduler.prune_changes import PruneChange

MCP_PREFIX = "mcp__"

CATALOG_RECORDED = ToolPrune.CatalogRecorded.TOPIC

TOLD_BY_LOGS = frozenset({CLAUDE_CODE, CODEX})
"""Of these a newer version's log is the only one to tell what it offers."""


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
    """The tools of a session at the end of its log; none where the log shows none."""

    host: str
    session: LoggedSession
    at: datetime | None
    tools: tuple[OfferedTool, ...]

    def as_change(self) -> PruneChange:
        """Return what is to be stored of it."""
        return catalog_recorded(self.session.version, self.tools)


class Catalogues:
    """
    Follows the tools of the main agents of one host's logs.

    Args:
        host: the agent.

    """

    def __init__(self, host: str) -> None:
        self.host = host
        self._session: LoggedSession | None = None
        self._sessions: dict[str, LoggedSession] = {}
        self._offered: dict[str, _Offered] = {}

    def take(self, record: Record) -> None:
        """Take in a record of the log."""
        if isinstance(record, LoggedSession):
            self._session = record
            if not record.agent_id:
                self._sessions[record.session_id] = record
        elif isinstance(record, LoggedCatalogue) and self._session is not None:
            session = self._session
            if record.agent_id or session.agent_id:
                return
            offered = self._offered.setdefault(session.session_id, _Offered(session))
            offered.session = session
            offered.take(record)

    def seen(self, *, is_whole_log: bool) -> list[SeenCatalogue]:
        """
        Return the catalogue of each session.

        Of a log that was not read from its beginning only what it shows as whole counts.
        """
        seen = {
            name: SeenCatalogue(self.host, offered.session, offered.at, self._tools(offered))
            for name, offered in self._offered.items()
            if offered.tools and (is_whole_log or offered.is_whole)
        }
        if is_whole_log and self.host in TOLD_BY_LOGS:
            for name, session in self._sessions.items():
                seen.setdefault(name, SeenCatalogue(self.host, session, session.at, ()))
        return list(seen.values())

    def _tools(self, offered: _Offered) -> tuple[OfferedTool, ...]:
        tools = [
            OfferedTool(tool.name, _server_of(tool.name), tool.characters, loaded=not tool.deferred)
            for tool in offered.tools.values()
        ]
        if not offered.is_whole:
            # Not all that is loaded is shown: what this agent loads by default is known.
            unit_of = TARGETS[self.host].unit_of
            shown = {unit_of(tool.name, tool.server) for tool in tools}
            assumed = TARGETS[self.host].assumed.items()
            tools += [
                OfferedTool(name, characters=size, assumed=True)
                for name, size in assumed
                if name not in shown
            ]
        return tuple(tools)


def _server_of(name: str) -> str:
    return name.removeprefix(MCP_PREFIX).partition("__")[0] if name.startswith(MCP_PREFIX) else ""


def record_catalogues(ground: Ground, seen: Iterable[SeenCatalogue], *, only_first: bool = False) -> None:
    """
    Have catalogues stored, the newest of each checkout that still stands.

    A log that shows no tools makes the catalogue of another version stale: it is stored as unknown then.

    Args:
        ground: the store, and the way into it.
        seen: what logs showed.
        only_first: whether a checkout that has a catalogue keeps it: history is older than what was heard.

    """
    newest: dict[tuple[str, str], tuple[Place, SeenCatalogue]] = {}
    for one in sorted(seen, key=lambda one: (bool(one.tools), one.at or NO_TIME)):
        place = ground.place_of(one.session)
        newest[one.host, place.checkout] = (place, one)
    for (host, checkout), (place, one) in newest.items():
        if not checkout or not Path(checkout).is_dir():
            continue
        version = _recorded_version(ground, ToolPrune.create_id(host, checkout).hex)
        if one.tools:
            is_news = not only_first or version is None
        else:
            is_news = not only_first and bool(version) and one.session.version not in {"", version}
        if is_news:
            ground.ask(request_of(host, place, [one.as_change()]))


def _recorded_version(ground: Ground, stream_id: str) -> str | None:
    """Return the agent's version of the newest catalogue; None where there is no list."""
    stream = [row for row in ground.log.stream(stream_id) if isinstance(row, EventRow)]
    recorded = [str(row.data["agent_version"]) for row in stream if row.topic == CATALOG_RECORDED]
    return recorded[-1] if recorded else ("" if stream else None)
