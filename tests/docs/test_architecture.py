"""Every invariant of the architecture page names a check that is there; a sentence without one is a wish."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
INVARIANTS = PAGE.partition("## What holds it up")[2]
TESTS = re.findall(r"\[`(tests/[^`]+)`\]", INVARIANTS)
CONTRACTS = re.findall(r"\[contract: `([^`]+)`\]", INVARIANTS)
FOLDERS = ("console", "domain", "hosts", "projections", "scheduler", "writers")


def test_every_invariant_names_a_check() -> None:
    sentences = re.findall(r"^- ", INVARIANTS, flags=re.MULTILINE)

    assert len(TESTS) + len(CONTRACTS) == len(sentences) > 15


@pytest.mark.parametrize("named", TESTS)
def test_the_named_test_is_there(named: str) -> None:
    path, _, function = named.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    tests = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and "test" in node.name
    }

    assert function in tests if function else tests


@pytest.mark.parametrize("named", CONTRACTS)
def test_the_named_contract_is_there(named: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]]

    assert [name for name in contracts if name.startswith(named)]


def test_no_folder_is_importable_by_its_bare_name(tmp_path: Path) -> None:
    program = f"import importlib.util as u; print([n for n in {FOLDERS!r} if u.find_spec(n)])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_every_folder_of_the_tree_is_a_room_of_the_page() -> None:
    rooms = set(re.findall(r"^\| `([a-z]+)/` \|", PAGE, flags=re.MULTILINE))

    assert rooms == set(FOLDERS)
