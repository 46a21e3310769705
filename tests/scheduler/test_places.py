"""Identities of real git repositories, read without git."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.scheduler.places import PATH_CHARACTERS_MAX, place_of

if TYPE_CHECKING:
    from pathlib import Path

URL = "git@example.org:team/project.git"
GIT = shutil.which("git") or "git"
IDENTITY = "example.org/team/project"


def git(folder: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    subprocess.run([GIT, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def repository(folder: Path, url: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-b", "main")
    if url:
        git(folder, "remote", "add", "origin", url)
    git(folder, "commit", "--allow-empty", "-m", "first")
    return folder


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    home = tmp_path / "dev"
    home.mkdir()
    return home


def found(folder: Path, user_home: Path, ceilings: str = "") -> tuple[str, str]:
    place = place_of(str(folder), str(user_home), ceilings)
    return place.repository, place.checkout


def test_a_clone_is_known_by_its_origin_from_every_folder_in_it(user_home: Path) -> None:
    upstream = repository(user_home / "upstream")
    git(user_home, "clone", str(upstream), "clone")
    clone = user_home / "clone"
    git(clone, "remote", "set-url", "origin", URL)
    (clone / "src" / "deep").mkdir(parents=True)

    assert found(clone, user_home) == (IDENTITY, str(clone))
    assert found(clone / "src" / "deep", user_home) == (IDENTITY, str(clone))


@pytest.mark.parametrize("url", [URL, ""])
def test_a_worktree_is_the_same_repository_and_another_checkout(user_home: Path, url: str) -> None:
    main = repository(user_home / "project", url)
    git(main, "worktree", "add", "-b", "other", "../other tree")
    tree = user_home / "other tree"

    assert found(tree, user_home) == (IDENTITY if url else f"path:{main}/.git", str(tree))
    assert found(tree, user_home)[0] == found(main, user_home)[0]


def test_a_submodule_is_a_repository_of_its_own(user_home: Path) -> None:
    part = repository(user_home / "part")
    whole = repository(user_home / "whole", URL)
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", str(part), "parts/one")
    inside = whole / "parts" / "one"
    git(inside, "remote", "set-url", "origin", "https://example.org/team/part")

    assert found(inside, user_home) == ("example.org/team/part", str(inside))
    git(inside, "remote", "remove", "origin")
    assert found(inside, user_home)[0] == f"path:{whole}/.git/modules/parts/one"


def test_without_an_origin_the_git_folder_is_the_identity_until_one_is_added(user_home: Path) -> None:
    project = repository(user_home / "project")
    git(project, "remote", "add", "upstream", URL)

    assert found(project, user_home)[0] == f"path:{project}/.git"
    git(project, "remote", "add", "origin", URL)
    assert found(project, user_home)[0] == IDENTITY


def test_without_git_the_folder_is_the_identity(user_home: Path) -> None:
    folder = user_home / "notes" / "today"
    folder.mkdir(parents=True)

    assert found(folder, user_home) == (f"path:{folder}", str(folder))
    assert found(folder / "gone since", user_home)[0] == f"path:{folder}/gone since"


def test_a_link_to_a_checkout_is_that_checkout(user_home: Path) -> None:
    project = repository(user_home / "project")
    (user_home / "link").symlink_to(project)

    assert found(user_home / "link", user_home) == found(project, user_home)


def test_a_home_folder_kept_in_git_is_no_repository_of_what_lies_below_it(user_home: Path) -> None:
    git(user_home, "init")
    git(user_home, "remote", "add", "origin", URL)
    folder = user_home / "notes"
    folder.mkdir()

    assert found(folder, user_home) == (f"path:{folder}", str(folder))
    assert found(user_home, user_home) == (IDENTITY, str(user_home))


def test_the_search_stops_at_the_users_ceilings(user_home: Path) -> None:
    shared = repository(user_home / "shared", URL)
    folder = shared / "one" / "two"
    folder.mkdir(parents=True)
    ceilings = os.pathsep.join(["", "relative", str(shared)])

    assert found(folder, user_home)[0] == IDENTITY
    assert found(folder, user_home, ceilings)[0] == f"path:{folder}"
    assert found(shared, user_home, ceilings)[0] == IDENTITY


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "/with\0zero",
        "/half \ud800 of a pair",
        "/" + "a/" * PATH_CHARACTERS_MAX * 500,
    ],
)
def test_what_names_no_folder_counts_as_the_home_folder(user_home: Path, folder: str) -> None:
    assert place_of(folder, str(user_home)) == Place(f"path:{user_home}", str(user_home))


def test_a_name_too_long_for_any_folder_is_no_repository(user_home: Path) -> None:
    folder = user_home / ("a" * 300) / "b"

    assert found(folder, user_home) == (f"path:{folder}", str(folder))


@pytest.mark.parametrize(
    "marker",
    [
        b"",
        b"gitdir:",
        b"gitdir: \0",
        b"gitdir: nowhere",
        b"gitdir: " + b"a/" * 100_000,
        b"\xff\xfe",
        b"gitdir: .",
    ],
)
def test_a_git_file_that_leads_nowhere_is_a_repository_without_origin(user_home: Path, marker: bytes) -> None:
    project = user_home / "project"
    project.mkdir()
    (project / ".git").write_bytes(marker)

    identity, checkout = found(project, user_home)
    assert identity.startswith("path:")
    assert checkout == str(project)


@pytest.mark.parametrize("name", [".git", ".git/config", ".git/commondir"])
def test_a_pipe_in_place_of_one_of_gits_files_does_not_keep_the_daemon_waiting(
    user_home: Path, name: str
) -> None:
    pipe = user_home / "project" / name
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)

    assert found(user_home / "project", user_home)[0].startswith("path:")
