from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tokeneconomizer.scheduler.home import KEY_BYTES, Home


@pytest.mark.parametrize(
    ("named", "root"),
    [
        ("/srv/state", "/srv/state"),
        ("", "HOME/.tokeneconomizer"),
        ("relative/state", "HOME/.tokeneconomizer"),
    ],
)
def test_the_home_is_the_one_that_the_environment_names_unless_it_is_relative(named: str, root: str) -> None:
    expected = Path(root.replace("HOME", str(Path.home())))

    assert Home.from_environment({"TOKENECONOMIZER_HOME": named}).root == expected
    assert Home.from_environment({}).root == Path.home() / ".tokeneconomizer"


def test_folders_are_for_the_user_alone(tmp_path: Path) -> None:
    home = Home(tmp_path / "state")
    before = os.umask(0o022)
    try:
        home.create()
        home.create()
    finally:
        os.umask(before)

    folders = [home.root, *(path for path in home.root.rglob("*") if path.is_dir())]
    assert len(folders) == 6
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_the_secret_is_made_once_and_for_the_user_alone(home: Home) -> None:
    before = os.umask(0o022)
    try:
        first, second = home.key(), home.key()
    finally:
        os.umask(before)

    assert first == second
    assert len(first) == KEY_BYTES
    assert stat.S_IMODE((home.root / "key").stat().st_mode) == 0o600
    assert [path.name for path in home.root.iterdir() if path.is_file()] == ["key"]


def test_all_who_start_at_once_get_the_same_secret(home: Home) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: home.key(), range(8)))

    assert len(keys) == 1
