"""`te prune` and `te undo`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console_runs import te
from deny_list_runs import ONE_NAME, Checkout

from tokeneconomizer.hosts.pruning import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def on(checkout: Path, host: str = "claude_code") -> tuple[str, ...]:
    return ("--host", host, "--checkout", str(checkout))


def test_apply_now_and_restore_print_what_became_of_the_file(checkout: Path) -> None:
    file = checkout / ".claude" / "settings.local.json"
    done = te("prune", "apply", *on(checkout), "--deny", "Workflow", "--deny", "Agent", "--now")
    assert json.loads(done.out) == {
        "written": True,
        "file": str(file),
        "added": ["Workflow", "Agent"],
        "removed": [],
        "refused": None,
    }
    again = json.loads(te("toolprune", "apply", *on(checkout), "--deny", "Agent", "--now").out)
    assert (again["written"], again["added"], again["refused"]) == (False, [], None)
    restored = json.loads(te("prune", "restore", *on(checkout)).out)
    assert (restored["written"], restored["removed"]) == (True, ["Workflow", "Agent"])
    assert not file.exists()


def test_a_refusal_is_printed_with_status_0_and_shown(checkout: Path) -> None:
    (checkout / ".claude").mkdir()
    (checkout / ".claude" / "settings.local.json").write_text("// mine\n{}")
    done = te("prune", "apply", *on(checkout), "--deny", "Workflow", "--now")
    assert done.status == 0
    assert json.loads(done.out)["refused"]["reason"] == "not_parsable"
    (line,) = json.loads(te("prune", "status", "--json").out)
    assert (line["state"], line["pending"], line["refused"]["reason"]) == (
        "refused",
        ["Workflow"],
        "not_parsable",
    )
    assert "not_parsable" in te("status").out


def test_an_approved_list_is_pending_with_the_time_left(checkout: Path) -> None:
    assert te("prune", "apply", *on(checkout), "--deny", "Workflow").status == 0
    (line,) = json.loads(te("prune", "status", "--json").out)
    assert (line["pending"], line["approved_by"], line["minutes_left"]) == (["Workflow"], "user", 60)
    assert "pending: Workflow" in te("prune", "status").out
    assert "60 idle minutes left" in te("status").out


def test_what_is_written_now_leaves_others_waiting(checkout: Path) -> None:
    te("prune", "apply", *on(checkout), "--deny", "Workflow", "--deny", "Agent")
    te("prune", "apply", *on(checkout), "--deny", "Agent", "--deny", "Skill", "--now")
    (line,) = json.loads(te("prune", "status", "--json").out)
    assert (line["pending"], line["written"], line["minutes_left"]) == (["Workflow"], ["Agent", "Skill"], 60)
    (checkout / ".claude" / "settings.local.json").write_text("{")
    te("prune", "apply", *on(checkout), "--deny", "ListAgents", "--now")
    (line,) = json.loads(te("prune", "status", "--json").out)
    assert (line["pending"], line["written"]) == (["Workflow", "ListAgents"], ["Agent", "Skill"])


def test_a_list_is_shown_for_each_agent_with_what_becomes_of_it(home: Home) -> None:
    for host in TARGETS:
        folder = home.root.parent / host
        folder.mkdir()
        known = Checkout(folder, host)
        on_host = on(known.path, host)
        te("prune", "apply", *on_host, "--deny", ONE_NAME[host])
        status = te("status").out
        assert f"pending: {ONE_NAME[host]}" in status
        assert "60 idle minutes left" in status
        homes = ("--agents-home", str(known.user_home))
        te("prune", "apply", *on_host, *homes, "--deny", ONE_NAME[host], "--now")
        assert f"written: {ONE_NAME[host]}" in te("status").out
        known.write(b"{")
        te("prune", "restore", *on_host, *homes)
        assert "not_parsable" in te("status").out
    states = {line["host"]: line["state"] for line in json.loads(te("prune", "status", "--json").out)}
    assert states == dict.fromkeys(TARGETS, "refused")


def test_without_names_there_must_be_a_proposal(checkout: Path) -> None:
    refused = te("prune", "apply", *on(checkout))
    assert refused.status == 1
    assert "--deny" in refused.err


@pytest.mark.parametrize("name", ["Bash(rm:*)", "", "a b"])
def test_what_is_no_bare_name_is_wrong_usage(checkout: Path, name: str) -> None:
    assert te("prune", "apply", *on(checkout), "--deny", name, "--now").status == 2


def test_a_written_list_is_undone_by_its_event(checkout: Path) -> None:
    te("prune", "apply", *on(checkout), "--deny", "Workflow", "--now")
    kind = ("--kind", "tool_prune.deny_list_written", "--json")
    (event,) = json.loads(te("audit", "list", *kind).out)
    undone = json.loads(te("undo", str(event["position"])).out)
    assert undone["removed"] == ["Workflow"]
    assert te("undo", "1").status == 1


def test_kept_names_are_added_up(home: Home) -> None:
    te("prune", "keep", "Workflow")
    te("prune", "keep", "Agent", "Workflow")
    assert te("config", "get", "prune.keep").out.strip() == "Workflow,Agent"
    assert home.config.exists()


def test_nothing_known_is_said_in_words() -> None:
    assert te("prune", "status").out == ""
    assert te("prune", "propose").status == 0
    assert te("prune", "refresh-catalog").status == 0
    assert json.loads(te("prune", "evidence", "--json").out) == []


def test_the_tools_of_a_log_are_taken_up(home: Home, checkout: Path) -> None:
    project = home.root.parent / "user" / ".claude" / "projects" / "-checkout"
    project.mkdir(parents=True)
    common = {
        "sessionId": "s",
        "cwd": str(checkout),
        "version": "2.1.332",
        "timestamp": "2026-01-05T09:00:00Z",
    }
    shape = {"tools": [{"name": "Workflow", "description": "x" * 100}, {"name": "Bash", "description": "y"}]}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "go"}, "uuid": "u", **common},
        {"type": "api-request-shape", "shape": shape, **common},
    ]
    (project / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert te("prune", "refresh-catalog", "--host", "claude_code").status == 0
    (known,) = json.loads(te("prune", "evidence", *on(checkout), "--json").out)
    assert not known["catalog_assumed"]
    tools = {tool["name"]: (tool["verdict"], tool["characters"]) for tool in known["tools"]}
    assert tools["Bash"][0] == "core"
    assert tools["Workflow"] == ("too_little_seen", len(json.dumps(shape["tools"][0], separators=(",", ":"))))
    assert "Workflow" in te("prune", "evidence").out
