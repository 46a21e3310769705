import os
import subprocess
from pathlib import Path

import pytest

from tokeneconomizer.writers.git_tracking import git_tracks


def git(folder: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=environment)  # noqa: S607


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_a_file_in_the_index_is_tracked(checkout: Path) -> None:
    file = checkout / "settings.json"
    file.write_text("{}")
    assert not git_tracks(file)
    git(checkout, "add", "settings.json")
    assert git_tracks(file)


def test_a_tracked_file_that_was_deleted_with_its_folder_is_still_tracked(checkout: Path) -> None:
    file = checkout / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text("{}")
    git(checkout, "add", ".")
    file.unlink()
    file.parent.rmdir()
    assert git_tracks(file)


def test_a_file_of_no_repository_is_not_tracked(tmp_path: Path) -> None:
    assert not git_tracks(tmp_path / "settings.json")


def test_a_broken_repository_tracks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert not git_tracks(tmp_path / "settings.json")


def test_a_name_is_not_taken_as_a_pattern(checkout: Path) -> None:
    (checkout / "settings.json").write_text("{}")
    git(checkout, "add", "settings.json")
    assert not git_tracks(checkout / "*.json")
    assert not git_tracks(checkout / ":(top)settings.json")


def test_the_callers_git_variables_do_not_count(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "settings.json").write_text("{}")
    git(checkout, "add", "settings.json")
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert git_tracks(checkout / "settings.json")


def test_the_repositorys_configuration_starts_no_program(checkout: Path) -> None:
    (checkout / "settings.json").write_text("{}")
    git(checkout, "config", "core.fsmonitor", f"touch {checkout}/started; false")
    assert not git_tracks(checkout / "settings.json")
    assert not (checkout / "started").exists()


@pytest.mark.parametrize("git_program", ["", "#!/bin/sh\nexit 128\n"])
def test_a_git_that_gives_no_answer_counts_as_tracking(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, git_program: str
) -> None:
    programs = checkout.parent / "bin"
    programs.mkdir()
    if git_program:
        (programs / "git").write_text(git_program)
        (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert git_tracks(checkout / "settings.json")
