from datetime import UTC, datetime

from tokeneconomizer.domain.prune_evidence import catalog_from_json
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedSession, LoggedTool
from tokeneconomizer.scheduler.catalogues import Catalogues

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
