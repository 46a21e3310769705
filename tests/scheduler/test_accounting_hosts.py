"""Agents' own folders are those that their hooks named, at the newest session start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.accounting_hosts import AccountingHosts

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def own_rules(hosts: AccountingHosts, host: str) -> str:
    return hosts.of(host).runtimes[host].rules.own[-1][0]


def test_the_folder_that_a_hook_named_is_used_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/daemon/claude")
    environments: dict[str, dict[str, str]] = {}
    hosts = AccountingHosts(tmp_path, environments)
    before = own_rules(hosts, "claude_code")

    environments["claude_code"] = {"CLAUDE_CONFIG_DIR": "/profile/claude", "PATH": "/bin"}
    environments["codex"] = {"PATH": "/bin"}

    assert before == "/daemon/claude/CLAUDE.md"
    assert own_rules(hosts, "claude_code") == "/profile/claude/CLAUDE.md"
    assert own_rules(hosts, "codex") == f"{tmp_path}/.codex/AGENTS.override.md"


def test_names_of_skills_are_kept_as_long_as_the_folders_are_the_same(tmp_path: Path) -> None:
    hosts = AccountingHosts(tmp_path, {})
    assert hosts.of("claude_code") is hosts.of("codex")
