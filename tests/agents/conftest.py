import sys
from pathlib import Path

import pytest

# Test helpers are imported by name, as pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

from claude_code import AgentUnavailableError, install_claude_code


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    try:
        return install_claude_code()
    except AgentUnavailableError as error:
        pytest.skip(str(error))
