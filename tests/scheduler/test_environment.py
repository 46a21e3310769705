from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import eventsourcing

from tokeneconomizer.scheduler.environment import FORBIDDEN_VARIABLES, shield

if TYPE_CHECKING:
    import pytest


def test_the_variables_that_name_modules_are_removed_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FORBIDDEN_VARIABLES:
        monkeypatch.setenv(name, "poison:Anything")
    monkeypatch.setenv("ANYTHING_TOPIC", "stays")
    shield()
    shield()

    assert not set(FORBIDDEN_VARIABLES) & set(os.environ)
    assert os.environ["ANYTHING_TOPIC"] == "stays"


def test_what_the_library_reads_at_its_import_is_among_them() -> None:
    folder = Path(eventsourcing.__path__[0])
    sources = "\n".join(path.read_text() for path in folder.glob("*.py"))
    read_at_import = set(re.findall(r"os\.(?:getenv|environ\.get)\(\s*\"(\w+)\"", sources))

    assert read_at_import <= set(FORBIDDEN_VARIABLES)
    assert "TZINFO_TOPIC" in read_at_import
