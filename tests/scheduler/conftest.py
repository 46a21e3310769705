"""A home of its own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from workbench import Workbench

from tokeneconomizer.scheduler.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "state")
    home.create()
    return home


@pytest.fixture
def bench(home: Home) -> Iterator[Workbench]:
    with Workbench(home) as bench:
        yield bench
