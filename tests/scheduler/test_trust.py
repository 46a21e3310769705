from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tokeneconomizer.scheduler.places import main_checkout
from tokeneconomizer.scheduler.trust import AgentTrust

HOST = "claude_code"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def note(folder: Path, projects: object) -> Path:
    path = folder / ".claude.json"
    path.write_text(json.dumps({"numStartups": 3, "projects": projects}))
    return path


def accepted(*folders: str) -> dict[str, object]:
    return {folder: {"allowedTools": [], "hasTrustDialogAccepted": True} for folder in folders}


@pytest.mark.parametrize(
    ("projects", "is_trusted"),
    [
        (accepted("/work/project"), True),
        (accepted("/work"), False),
        (accepted("/work/project/sub"), False),
        ({"/work/project": {"hasTrustDialogAccepted": False}}, False),
        ({"/work/project": {"hasTrustDialogAccepted": "yes"}}, False),
        ({"/work/project": {}}, False),
        ({}, False),
        ([], False),
    ],
)
def test_the_answer_to_the_trust_dialog_is_read(user: Path, projects: object, is_trusted: bool) -> None:
    note(user, projects)
    assert AgentTrust().trusts(HOST, "/work/project") is is_trusted


def test_without_a_readable_file_nothing_is_trusted(user: Path) -> None:
    assert not AgentTrust().trusts(HOST, "/work/project")
    (user / ".claude.json").write_bytes(b"\xff{")
    assert not AgentTrust().trusts(HOST, "/work/project")
    (user / ".claude.json").unlink()
    (user / ".claude.json").mkdir()
    assert not AgentTrust().trusts(HOST, "/work/project")


def test_an_agent_that_is_not_known_and_no_checkout_are_not_trusted(user: Path) -> None:
    note(user, accepted("", "/work/project"))
    assert not AgentTrust().trusts("another", "/work/project")
    assert not AgentTrust().trusts(HOST, "")


def test_the_folder_that_the_agent_was_told_is_where_its_file_lies(user: Path) -> None:
    (user / "elsewhere").mkdir()
    note(user / "elsewhere", accepted("/work/project"))
    told = {HOST: {"CLAUDE_CONFIG_DIR": str(user / "elsewhere")}}
    assert AgentTrust(told).trusts(HOST, "/work/project")
    assert not AgentTrust().trusts(HOST, "/work/project")


def test_the_file_is_read_again_when_it_changed(user: Path) -> None:
    trust = AgentTrust()
    path = note(user, accepted("/work/other"))
    assert not trust.trusts(HOST, "/work/project")
    stamp = path.stat().st_mtime_ns
    note(user, accepted("/work/project"))
    os.utime(path, ns=(stamp, stamp + 1))
    assert trust.trusts(HOST, "/work/project")


def test_a_worktree_is_trusted_with_its_main_checkout(user: Path) -> None:
    main, worktree = user / "main", user / "worktree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", str(main)], check=True)
    subprocess.run([*git, "-C", str(main), "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "-C", str(main), "worktree", "add", "-q", str(worktree)], check=True)
    assert main_checkout(worktree) == main
    assert main_checkout(main) == main
    assert main_checkout(Path("/no/such/folder")) == Path("/no/such/folder")
    note(user, accepted(str(main)))
    assert AgentTrust().trusts(HOST, str(worktree))
