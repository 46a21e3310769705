"""Regular expressions that mean the same on every Python 3.11."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("console", "domain", "hosts", "projections", "scheduler", "writers")
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_group_is_possessive(package: str) -> None:
    # Before 3.11.5 such a group may not match what it should (gh-106052); an atomic group `(?>(?:…)*)` does.
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []
