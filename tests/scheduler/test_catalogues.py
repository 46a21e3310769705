from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from workbench import Workbench, rows_of

from tokeneconomizer.domain.commands import Delivery, HookCommand, SessionKey, StartSession
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.prune_evidence import OfferedTool, catalog_from_json
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession, LoggedTool
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.catalogues import Catalogues, record_catalogues
from tokeneconomizer.scheduler.configured_servers import configured_servers
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.places import place_of
from tokeneconomizer.scheduler.sending import submit

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2026, 1, 5, tzinfo=UTC)
SESSION = LoggedSession(1, AT, "s", version="2.1.332")


def offered(*records: LoggedCatalogue, is_whole_log: bool = True) -> dict[str, tuple[int | None, bool, bool]]:
    catalogues = Catalogues("claude_code")
    catalogues.take(SESSION)
    for record in records:
        catalogues.take(record)
    seen = catalogues.seen(is_whole_log=is_whole_log)
    if not seen:
        return {}
    tools = catalog_from_json(str(seen[0].as_change().fields["catalog"]))
    return {tool.name: (tool.characters, tool.loaded, tool.assumed) for tool in tools}


def whole(*tools: LoggedTool, agent_id: str = "") -> LoggedCatalogue:
    return LoggedCatalogue(2, AT, tools, whole=True, agent_id=agent_id)


def more(*tools: LoggedTool, removed: tuple[str, ...] = ()) -> LoggedCatalogue:
    return LoggedCatalogue(3, AT, tools, whole=False, removed=removed)


def test_the_newest_whole_list_and_what_was_added_to_it_count() -> None:
    assert offered(
        whole(LoggedTool("Old", 9)),
        more(LoggedTool("WebFetch", deferred=True), LoggedTool("Cron", deferred=True)),
        whole(LoggedTool("Agent", 5)),
        more(removed=("Cron",)),
    ) == {"Agent": (5, True, False), "WebFetch": (None, False, False)}


def test_where_only_deferred_names_are_shown_the_default_is_assumed_and_said_so() -> None:
    found = offered(more(LoggedTool("WebFetch", deferred=True)))
    assert found["WebFetch"] == (None, False, False)
    assert found["Workflow"] == (5_806, True, True)


def test_a_log_that_was_read_in_part_must_show_the_whole_list() -> None:
    assert offered(more(LoggedTool("WebFetch", deferred=True)), is_whole_log=False) == {}
    assert offered(whole(LoggedTool("Agent", 5)), is_whole_log=False) == {"Agent": (5, True, False)}


def test_a_sub_agents_tools_are_not_the_sessions() -> None:
    assert offered(whole(LoggedTool("Agent", 5), agent_id="a")) == {}


def test_what_is_added_to_an_unknown_list_takes_nothing_from_what_is_loaded_by_default() -> None:
    found = offered(more(LoggedTool("Workflow", 9), LoggedTool("Cron")))
    assert (found["Workflow"], found["Cron"]) == ((9, True, False), (None, True, False))
    assert found["Skill"] == (1_846, True, True)


class Shown:
    """A home that takes up what logs of a checkout show, one log after the other."""

    def __init__(self, folder: Path, host: str = "claude_code") -> None:
        self.home = Home(folder / "state")
        self.home.create()
        self.host = host
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        self.logs = 0

    def log(self, version: str, *records: LoggedCatalogue, only_first: bool = False) -> None:
        self.logs += 1
        catalogues = Catalogues(self.host)
        at = AT + timedelta(hours=self.logs)
        catalogues.take(LoggedSession(1, at, f"s{self.logs}", folder=str(self.checkout), version=version))
        for record in records:
            catalogues.take(record)
        with EventLog(self.home.events) as log:
            ground = Ground(
                log,
                Hasher(self.home.key()),
                "/home/dev",
                lambda session: place_of(session.folder, "/home/dev"),
                lambda _events: None,
                ask=lambda request: submit(self.home, request),
            )
            record_catalogues(ground, catalogues.seen(is_whole_log=True), only_first=only_first)

    def recorded(self) -> list[tuple[str, int]]:
        """Version and number of tools of each catalogue that was stored."""
        return recorded_in(self.home)


def recorded_in(home: Home) -> list[tuple[str, int]]:
    rows = rows_of(home.events, "SELECT state FROM stored_events WHERE topic = 'tool_prune.catalog_recorded'")
    events = [json.loads(bytes(state)) for (state,) in rows]  # type: ignore[arg-type]
    return [(event["agent_version"], len(json.loads(event["catalog"]))) for event in events]


def test_a_newer_version_that_shows_no_tools_makes_the_catalogue_unknown(tmp_path: Path) -> None:  # S6.2
    shown = Shown(tmp_path)
    shown.log("2.1.331", whole(LoggedTool("Agent", 5)))
    shown.log("2.1.331")
    assert shown.recorded() == [("2.1.331", 1)]
    shown.log("2.1.332", only_first=True)
    shown.log("")
    assert shown.recorded() == [("2.1.331", 1)]
    shown.log("2.1.332")
    shown.log("2.1.332")
    assert shown.recorded() == [("2.1.331", 1), ("2.1.332", 0)]
    shown.log("2.1.332", whole(LoggedTool("Agent", 5)))
    assert shown.recorded()[2:] == [("2.1.332", 1)]


def test_a_log_that_shows_nothing_of_a_checkout_begins_no_list(tmp_path: Path) -> None:
    shown = Shown(tmp_path)
    shown.log("2.1.332")
    assert not shown.home.events.exists() or shown.recorded() == []


def test_the_log_of_an_agent_that_tells_its_tools_itself_makes_nothing_stale(tmp_path: Path) -> None:
    shown = Shown(tmp_path, "pi")
    shown.log("1.3.0", more(LoggedTool("read", 5)))
    shown.log("1.6.0")
    assert shown.recorded() == [("1.3.0", 1)]


def test_a_bridges_catalogue_is_bounded_and_a_sub_agents_is_none(tmp_path: Path) -> None:
    many = tuple(OfferedTool(f"tool{number}" * 50) for number in range(2_000))
    with Workbench(Home(tmp_path)) as bench:
        for key in (SessionKey("pi", "s", "sub"), SessionKey("pi", "s")):
            command = HookCommand(key, "", "/home/dev/project", "", StartSession("startup"), offered=many)
            bench.application.handle(command, Delivery(key.agent_id or "d", AT))
        assert recorded_in(bench.home) == [("", 1_000)]


def test_servers_of_copilot_are_read_where_they_are_configured(tmp_path: Path) -> None:
    (tmp_path / ".copilot").mkdir()
    (tmp_path / ".copilot" / "mcp-config.json").write_text('{"mcpServers": {"lab": {}, "both": {}}}')
    (tmp_path / ".mcp.json").write_text('// mine\n{"mcpServers": {"both": {}, "here": {}}}')
    found = configured_servers("copilot", tmp_path, AgentHomes(tmp_path))
    assert [(tool.name, tool.server, tool.characters) for tool in found or ()] == [
        ("both", "both", None),
        ("here", "here", None),
        ("lab", "lab", None),
    ]
    (tmp_path / ".mcp.json").write_text("[")
    assert len(configured_servers("copilot", tmp_path, AgentHomes(tmp_path)) or ()) == 2
    assert configured_servers("codex", tmp_path, AgentHomes(tmp_path)) is None
