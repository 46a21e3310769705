from __future__ import annotations

import pytest
from context_files import FakeContextFiles

from tokeneconomizer.domain.accounting.skills import ALL_PLACES, OWN_PLACES, Root, find_skills, skill_places
from tokeneconomizer.domain.accounting.snapshot import PRODUCERS

WORKSPACE = "/home/dev/project"
ROOTS = {
    root: f"/home/dev/{folder}"
    for root, folder in {
        Root.HOME: "",
        Root.CLAUDE: ".claude",
        Root.CODEX: ".codex",
        Root.COPILOT: ".copilot",
        Root.PI: ".pi/agent",
        Root.OPENCODE: ".config/opencode",
    }.items()
} | {Root.HOME: "/home/dev", Root.MANAGED: "/etc/claude-code"}


def skill(name: str) -> bytes:
    return f"---\nname: {name}\n---\n".encode()


def found(files: dict[str, bytes], *names: str, produced_by: str = "claude_code") -> list[str]:
    skills = find_skills(names, produced_by, WORKSPACE, FakeContextFiles(files, ROOTS))
    return [file.path for file in skills]


@pytest.mark.parametrize(
    ("produced_by", "winner", "loser"),
    [
        ("claude_code", "/etc/claude-code/.claude/skills", "/home/dev/.claude/skills"),
        ("claude_code", "/home/dev/.claude/skills", f"{WORKSPACE}/.claude/skills"),
        ("claude_code", f"{WORKSPACE}/.claude/skills", "/home/dev/.agents/skills"),
        ("codepilot_runtime", f"{WORKSPACE}/.claude/skills", "/home/dev/.claude/skills"),
        ("codepilot_runtime", "/home/dev/.claude/skills", "/home/dev/.agents/skills"),
        ("codex_runtime", f"{WORKSPACE}/.agents/skills", "/home/dev/.codex/skills"),
        ("codex_runtime", "/home/dev/.codex/skills", "/home/dev/.claude/skills"),
        ("copilot", f"{WORKSPACE}/.github/skills", f"{WORKSPACE}/.claude/skills"),
        ("copilot", f"{WORKSPACE}/.claude/skills", "/home/dev/.copilot/skills"),
        ("pi", "/home/dev/.pi/agent/skills", f"{WORKSPACE}/.pi/skills"),
        ("pi", f"{WORKSPACE}/.pi/skills", "/home/dev/.claude/skills"),
        ("opencode", f"{WORKSPACE}/.opencode/skills", "/home/dev/.config/opencode/skills"),
        ("opencode", "/home/dev/.config/opencode/skills", f"{WORKSPACE}/.claude/skills"),
    ],
)
def test_of_two_with_one_name_the_one_that_the_agent_loads_is_found(
    produced_by: str, winner: str, loser: str
) -> None:
    files = {f"{folder}/review/SKILL.md": skill("review") for folder in (loser, winner)}
    assert found(files, "review", produced_by=produced_by) == [f"{winner}/review/SKILL.md"]


@pytest.mark.parametrize("produced_by", PRODUCERS)
def test_every_runtime_looks_into_every_folder_its_own_first(produced_by: str) -> None:
    places = skill_places(produced_by)
    assert set(places) == set(ALL_PLACES)
    assert places[: len(OWN_PLACES[produced_by])] == OWN_PLACES[produced_by]


def test_a_declared_name_comes_before_a_folders() -> None:
    files = {
        f"{WORKSPACE}/.claude/skills/a/SKILL.md": skill("b"),
        f"{WORKSPACE}/.claude/skills/b/SKILL.md": skill("a"),
    }
    assert found(files, "a") == [f"{WORKSPACE}/.claude/skills/b/SKILL.md"]


@pytest.mark.parametrize("content", [b"", b"# no front matter", b"---\nname: [\n", skill("Another Name")])
def test_a_skill_is_found_by_its_folder_whatever_its_file_says(content: bytes) -> None:
    files = {f"{WORKSPACE}/.claude/skills/review/SKILL.md": content}
    assert found(files, "/Review") == list(files)


def test_two_names_of_one_file_find_it_once() -> None:
    files = {f"{WORKSPACE}/.claude/skills/review/SKILL.md": skill("code-review")}
    assert found(files, "review", "code-review") == list(files)


def test_folders_above_the_workspace_count_up_to_the_repositorys_root() -> None:
    outside = {"/home/.claude/skills/a/SKILL.md": skill("a")}
    inside = {"/home/dev/.claude/skills/a/SKILL.md": skill("a"), "/home/dev/.git/HEAD": b"ref"}
    roots = {Root.HOME: "/nowhere"}
    for files, expected in ((outside, []), (inside | outside, ["/home/dev/.claude/skills/a/SKILL.md"])):
        skills = find_skills(["a"], "claude_code", WORKSPACE, FakeContextFiles(files, roots))
        assert [file.path for file in skills] == expected
