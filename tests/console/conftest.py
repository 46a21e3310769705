import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokeneconomizer.scheduler.home import Home


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """Give each test a home of its own, which does not exist yet, and a user's home beside it."""
    with tempfile.TemporaryDirectory(prefix="te-", ignore_cleanup_errors=True) as folder:
        user = Path(folder) / "user"
        user.mkdir()
        monkeypatch.setenv("HOME", str(user))
        monkeypatch.setenv("TOKENECONOMIZER_HOME", f"{folder}/state")
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        monkeypatch.setenv("TZ", "UTC")
        yield Home(Path(folder) / "state")
