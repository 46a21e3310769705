"""The built wheel holds what the tree holds, and works without the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("console", "domain", "hosts", "projections", "scheduler", "writers")
DATA_SUFFIXES = {".jsonl", ".ts", ".typed"}

BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built from a copy: building leaves files beside the sources.
    source = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "py.typed"):
        shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-c", BUILD, str(target)], cwd=source, check=True, capture_output=True, timeout=120
    )
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_every_module_and_data_file_of_the_tree(wheel: Path) -> None:
    in_wheel = {
        name.removeprefix("tokeneconomizer/")
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith("tokeneconomizer/")
    }
    in_tree = {
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix == ".py" or path.suffix in DATA_SUFFIXES
    }

    assert in_wheel == in_tree | {"py.typed"}


def test_the_demo_runs_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    zipfile.ZipFile(wheel).extractall(packages)
    # The libraries are those of this environment; its link to the tree is none of theirs and is not followed.
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    program = [environment / "bin" / "python", "-I", "-m", "tokeneconomizer.console.main"]
    done = subprocess.run(
        [*program, "demo", "--fast"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "the user sees:" in done.stdout
