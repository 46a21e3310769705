"""Files that hold sessions, found without opening one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.hosts.log_files import files_below, mark_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("pattern", "passed_over", "expected"),
    [
        ("*.jsonl", "", ["a/other.jsonl", "a/results/rollout-3.jsonl", "rollout-1.jsonl"]),
        ("rollout-*.jsonl", "", ["a/results/rollout-3.jsonl", "rollout-1.jsonl"]),
        ("*.jsonl", "results", ["a/other.jsonl", "rollout-1.jsonl"]),
    ],
)
def test_files_are_found_by_their_names_in_all_folders_but_those_passed_over(
    tmp_path: Path, pattern: str, passed_over: str, expected: list[str]
) -> None:
    for name in ("rollout-1.jsonl", "a/other.jsonl", "a/notes.txt", "a/results/rollout-3.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    found = files_below(tmp_path, pattern, passed_over)

    assert [os.path.relpath(path, tmp_path) for path in found] == expected


def test_a_folder_that_is_absent_holds_nothing(tmp_path: Path) -> None:
    assert files_below(tmp_path / "absent", "*") == []


def test_a_mark_differs_when_a_file_grew_or_went(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    marks = [mark_of(str(path))]
    for content in ("", "a", "ab"):
        path.write_text(content)
        marks.append(mark_of(str(path)))

    assert len(set(marks)) == 4
    assert mark_of(str(path)) == marks[-1]
