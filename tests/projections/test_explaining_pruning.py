"""Why tools were proposed, denied, refused and taken back (S1.4, S12.3)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest
from sessions import Telling, shell
from stores import Row, add_rows, make_store, row_of

from tokeneconomizer.domain.prune_evidence import OfferedTool, PruneLimits, catalog_to_json
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.explaining import explain

if TYPE_CHECKING:
    from pathlib import Path

    from eventsourcing.domain import AggregateEvent

    from tokeneconomizer.projections.explaining import Explanation

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
EVIDENCE = {"Skill": {"prompts": 12, "sessions": 2}, "Workflow": {"prompts": 14, "sessions": 3}}
FILE = {"file": ".claude/settings.local.json"}


class List:
    """A checkout's list, told step by step."""

    def __init__(self, repository: str) -> None:
        self.prune = ToolPrune.open("claude_code", repository, "/checkout", NOON)
        self.at = NOON

    def tell(self, event: type[AggregateEvent], **fields: object) -> None:
        self.at += timedelta(minutes=1)
        self.prune.trigger_event(event, timestamp=self.at, **fields)

    def propose(self, *names: str) -> None:
        evidence = json.dumps({name: EVIDENCE[name] for name in names})
        self.tell(
            ToolPrune.PruneProposed, names=list(names), evidence=evidence, limits=PruneLimits().to_json()
        )

    def approve(self, *names: str) -> None:
        self.tell(ToolPrune.DenyListPended, names=list(names), approved_by="user")

    def rows(self) -> list[Row]:
        return [row_of(event) for event in self.prune.collect_events()]


@pytest.fixture
def told() -> List:
    """All that happens to a list on its way into the file."""
    told = List("path:/repository")
    catalog = catalog_to_json([OfferedTool("Workflow", characters=5_806), OfferedTool("Cron", loaded=False)])
    told.tell(ToolPrune.CatalogRecorded, agent_version="2.1.332", catalog=catalog)
    told.propose("Skill", "Workflow")
    told.approve("Workflow")
    refused = {"reason": "active", "detail": "something happened"}
    told.tell(ToolPrune.DenyListRefused, names=["Workflow"], **FILE, **refused)
    told.tell(ToolPrune.DenyListWritten, names=["Workflow"], **FILE, overridden=False, idle_ms=3_600_500)
    return told


def explained(folder: Path, rows: list[Row], topic: str) -> Explanation:
    store = make_store(folder / "events.db")
    add_rows(store, rows)
    with EventLog(store) as log:
        event = [row for row in log.entries() if isinstance(row, EventRow) and row.topic.endswith(topic)][-1]
        return explain(log, event)


def why(found: Explanation) -> dict[str, str]:
    return {basis.why: basis.kind.removeprefix("tool_prune.") for basis in found.rests_on}


def test_a_proposal_rests_on_its_evidence_and_the_catalogue(told: List, tmp_path: Path) -> None:
    found = explained(tmp_path, told.rows(), ".proposed")
    assert (found.rule, found.limits["min_prompts"], found.measured) == ("unused", 10, EVIDENCE)
    assert why(found) == {"the catalogue": "catalog_recorded"}


def test_a_written_list_rests_on_approval_evidence_catalogue_and_idle_time(
    told: List, tmp_path: Path
) -> None:
    found = explained(tmp_path, told.rows(), "_written")
    assert found.measured == {
        "idle_seconds": 3_600.5,
        "without_the_wait": False,
        "Workflow": EVIDENCE["Workflow"],
    }
    assert why(found) == {
        "the approval": "deny_list_pended",
        "the evidence": "proposed",
        "the catalogue": "catalog_recorded",
    }


def test_a_refusal_tells_its_reason_beside_what_the_list_rests_on(told: List, tmp_path: Path) -> None:
    found = explained(tmp_path, told.rows(), "_refused")
    assert found.measured["reason"] == "active"
    assert set(why(found)) == {"the approval", "the evidence", "the catalogue"}


def test_a_pending_list_tells_who_approved_it(told: List, tmp_path: Path) -> None:
    found = explained(tmp_path, told.rows(), "_pended")
    assert found.measured["approved_by"] == "user"
    assert set(why(found)) == {"the evidence", "the catalogue"}


def test_a_catalogue_is_told_in_figures(told: List, tmp_path: Path) -> None:
    found = explained(tmp_path, told.rows(), "catalog_recorded")
    figures = {"agent_version": "2.1.332", "tools": 2, "loaded": 1, "characters": 5_806, "assumed": 0}
    assert found.measured == figures


def test_a_proposal_without_a_catalogue_says_what_was_assumed(tmp_path: Path) -> None:
    told = List("r")
    told.propose("Skill")
    assert explained(tmp_path, told.rows(), ".proposed").measured["catalogue"] == (
        "what this agent loads by default"
    )


def test_what_the_user_named_rests_on_no_evidence(tmp_path: Path) -> None:
    told = List("r")
    told.tell(ToolPrune.DenyListWritten, names=["Agent"], **FILE, overridden=True, idle_ms=None)
    found = explained(tmp_path, told.rows(), "_written")
    assert (found.rule, found.rests_on, found.limits) == ("named by the user", (), {})


def test_a_denial_that_was_taken_back_names_its_write_and_what_asked_for_the_tool(tmp_path: Path) -> None:
    telling = Telling()
    telling.start()
    telling.prompt()
    told = List(cast("str", telling.session.repository))
    told.tell(ToolPrune.DenyListWritten, names=["Workflow"], **FILE, overridden=True, idle_ms=None)
    before = len(telling.events)
    telling.step(replace(shell("true"), tool="Workflow", command=""))
    telling.step(shell("ls"))
    rows = [row_of(event) for event in telling.events]
    told.tell(ToolPrune.DenyListRestored, names=["Workflow"], **FILE)
    *denied, restored = told.rows()
    found = explained(tmp_path, [*rows[:before], *denied, *rows[before:], restored], "_restored")
    assert [basis.kind for basis in found.rests_on] == ["tool_prune.deny_list_written", "session.tool_called"]
    assert [basis.why for basis in found.rests_on] == ["denied it", "asked for it since"]
