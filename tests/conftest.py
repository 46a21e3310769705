"""Keeps every test out of the home of whoever runs it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine makes no example wrong. CI repeats the same examples, so that its verdict is the change's;
# a run by hand looks for new ones.
settings.register_profile(
    "house",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")

# Where agents and we look for files besides HOME, and what changes the words or colours of an output.
VARIABLES_REMOVED = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "PI_CODING_AGENT_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "GIT_CEILING_DIRECTORIES",
    "LC_ALL",
    "COLUMNS",
    "NO_COLOR",
    "FORCE_COLOR",
)


@pytest.fixture(scope="session", autouse=True)
def throwaway_home() -> Iterator[Path]:
    # Short: a Unix socket's path may have about 104 bytes only.
    with (
        tempfile.TemporaryDirectory(prefix="te-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in VARIABLES_REMOVED:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", folder)
        patch.setenv("TOKENECONOMIZER_HOME", f"{folder}/state")
        patch.setenv("LANG", "C.UTF-8")
        yield Path(folder)
