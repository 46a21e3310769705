"""The contract of `ContextFiles`, over the fake and the real one; then what only the real one has to meet."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from context_files import FakeContextFiles

from tokeneconomizer.domain.accounting.skills import Root, SkillPlace
from tokeneconomizer.scheduler.context_files import DiskContextFiles, roots_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokeneconomizer.domain.accounting.files import ContextFiles

    Build = Callable[[dict[str, bytes]], ContextFiles]

PROJECT_SKILLS = SkillPlace(Root.PROJECT, ".claude/skills")
USER_SKILLS = SkillPlace(Root.CLAUDE, "skills")


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture(params=["fake", "disk"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    roots = {Root.HOME: tmp_path, Root.CLAUDE: tmp_path / ".claude"}

    def on_disk(files: dict[str, bytes]) -> ContextFiles:
        write(tmp_path, files)
        return DiskContextFiles(roots)

    def in_memory(files: dict[str, bytes]) -> ContextFiles:
        absolute = {str(tmp_path / name): content for name, content in files.items()}
        return FakeContextFiles(absolute, {root: str(path) for root, path in roots.items()})

    return on_disk if request.param == "disk" else in_memory


def test_the_size_of_a_file_is_its_bytes_and_nothing_else_has_one(build: Build, tmp_path: Path) -> None:
    files = build({"w/CLAUDE.md": "文".encode(), "w/empty.md": b""})
    sizes = [files.size_of(str(tmp_path / "w" / name)) for name in ("CLAUDE.md", "empty.md", "none.md", ".")]
    assert sizes == [3, 0, None, None]


def test_skills_are_told_with_their_names_and_sizes(build: Build, tmp_path: Path) -> None:
    content = b"---\nname: Code Review\n---\nbody"
    files = build({".claude/skills/review/SKILL.md": content, ".claude/skills/README.md": b"x"})
    (skill,) = files.skills_in(USER_SKILLS, str(tmp_path / "w"))
    assert (skill.path, skill.folder, skill.declared, skill.plugin, skill.size_bytes) == (
        str(tmp_path / ".claude/skills/review/SKILL.md"),
        "review",
        "Code Review",
        "",
        len(content),
    )


def test_groups_of_skills_are_searched_and_skills_are_not(build: Build, tmp_path: Path) -> None:
    names = ("b", "group/a", "group/deep/c", "b/inner", "1/2/3/too-deep")
    files = build({f".claude/skills/{name}/SKILL.md": b"" for name in names})
    found = [skill.folder for skill in files.skills_in(USER_SKILLS, str(tmp_path))]
    assert found == ["b", "a", "c"]


@pytest.mark.parametrize(("marks", "expected"), [({"repo/.git/HEAD": b""}, ["near", "far"]), ({}, ["near"])])
def test_project_skills_reach_up_to_the_repositorys_root(
    build: Build, tmp_path: Path, marks: dict[str, bytes], expected: list[str]
) -> None:
    skills = {
        "repo/sub/.claude/skills/near/SKILL.md": b"",
        "repo/.claude/skills/far/SKILL.md": b"",
        ".claude/skills/home/SKILL.md": b"",
    }
    found = build(skills | marks).skills_in(PROJECT_SKILLS, str(tmp_path / "repo/sub"))
    assert [skill.folder for skill in found] == expected


def test_a_root_that_is_not_here_holds_nothing(build: Build, tmp_path: Path) -> None:
    assert list(build({}).skills_in(SkillPlace(Root.CODEX, "skills"), str(tmp_path))) == []


@pytest.mark.parametrize("version", [1, 2])
def test_installed_plugins_bring_skills_under_their_names(tmp_path: Path, version: int) -> None:
    install = tmp_path / ".claude/plugins/cache/market/tools/1.0.0"
    entry = {"installPath": str(install), "version": "1.0.0"}
    plugins = {"tools@market": entry if version == 1 else [entry]}
    write(
        tmp_path,
        {
            ".claude/plugins/installed_plugins.json": json.dumps({"plugins": plugins}).encode(),
            ".claude/plugins/cache/market/tools/1.0.0/skills/review/SKILL.md": b"x",
        },
    )
    files = DiskContextFiles(roots_of(tmp_path, {}))
    (skill,) = files.skills_in(SkillPlace(Root.INSTALLED_PLUGINS, "skills"), str(tmp_path))
    assert (skill.plugin, skill.folder) == ("tools", "review")


@pytest.mark.parametrize(
    ("manifest", "name"),
    [(b'{"name":"tools"}', "tools"), (b"{", "lying"), (b'{"name":1}', "lying"), (None, "lying")],
)
def test_a_plugin_that_no_list_names_goes_by_its_manifest_or_folder(
    tmp_path: Path, manifest: bytes | None, name: str
) -> None:
    plugin = ".claude/plugins/marketplaces/market/lying"
    write(tmp_path, {f"{plugin}/skills/review/SKILL.md": b"x"})
    if manifest is not None:
        write(tmp_path, {f"{plugin}/.claude-plugin/plugin.json": manifest})
    files = DiskContextFiles(roots_of(tmp_path, {}))
    (skill,) = files.skills_in(SkillPlace(Root.PLUGIN_FOLDERS, "skills"), str(tmp_path))
    assert (skill.plugin, skill.folder) == (name, "review")


@pytest.mark.parametrize(
    "listed", [b"", b"{", b"[]", b'{"plugins":[]}', b'{"plugins":{"a":[1,{"installPath":2}]}}']
)
def test_a_list_of_plugins_that_is_none_brings_nothing(tmp_path: Path, listed: bytes) -> None:
    write(tmp_path, {".claude/plugins/installed_plugins.json": listed})
    files = DiskContextFiles(roots_of(tmp_path, {}))
    assert files.skills_in(SkillPlace(Root.INSTALLED_PLUGINS, "skills"), str(tmp_path)) == []


def test_a_changed_name_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / ".claude/skills/a/SKILL.md"
    files = DiskContextFiles(roots_of(tmp_path, {}))
    names = []
    for number, content in enumerate((b"---\nname: one\n---\n", b"---\nname: two\n---\n")):
        write(tmp_path, {".claude/skills/a/SKILL.md": content})
        os.utime(path, (number, number))
        names += [skill.declared for skill in files.skills_in(USER_SKILLS, str(tmp_path))]
    assert names == ["one", "two"]


@pytest.mark.parametrize("path", ["", "\0", "relative", "/" + "x" * 5_000])
def test_a_path_that_is_none_is_not_there(tmp_path: Path, path: str) -> None:
    assert DiskContextFiles(roots_of(tmp_path, {})).size_of(path) is None


def test_pipes_and_links_in_circles_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".claude/skills/pipe").mkdir(parents=True)
    os.mkfifo(tmp_path / ".claude/skills/pipe/SKILL.md")
    (tmp_path / ".claude/skills/loop").symlink_to(tmp_path / ".claude/skills")
    files = DiskContextFiles(roots_of(tmp_path, {}))
    assert files.skills_in(USER_SKILLS, str(tmp_path)) == []


@pytest.mark.parametrize(
    ("variable", "root"),
    [
        ("CLAUDE_CONFIG_DIR", Root.CLAUDE),
        ("CODEX_HOME", Root.CODEX),
        ("COPILOT_HOME", Root.COPILOT),
        ("PI_CODING_AGENT_DIR", Root.PI),
    ],
)
def test_the_agents_variables_move_their_folders(tmp_path: Path, variable: str, root: Root) -> None:
    moved = tmp_path / "moved"
    assert roots_of(tmp_path, {variable: str(moved)})[root] == moved
    assert roots_of(tmp_path, {variable: ""})[root] != moved


def test_opencodes_folder_moves_with_that_of_all_configurations(tmp_path: Path) -> None:
    assert (
        roots_of(tmp_path, {"XDG_CONFIG_HOME": "/etc/xdg"})[Root.OPENCODE].as_posix() == "/etc/xdg/opencode"
    )
