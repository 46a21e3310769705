import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

# Test helpers are imported by name, as pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

from claude_code import install_claude_code
from codex import install_codex
from copilot import install_copilot
from npm_agent import AgentUnavailableError
from opencode import install_opencode, install_plugin_package
from pi import PiProgram, install_pi
from typescript import TypescriptCompiler, install_typescript

Installed = TypeVar("Installed")


def installed_or_skipped(install: Callable[[], Installed]) -> Installed:
    try:
        return install()
    except AgentUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def claude_binary() -> Path:
    return installed_or_skipped(install_claude_code)


@pytest.fixture(scope="session")
def codex_binary() -> Path:
    return installed_or_skipped(install_codex)


@pytest.fixture(scope="session")
def copilot_binary() -> Path:
    return installed_or_skipped(install_copilot)


@pytest.fixture(scope="session")
def pi_program() -> PiProgram:
    return installed_or_skipped(install_pi)


@pytest.fixture(scope="session")
def opencode_plugin_package() -> Path:
    return installed_or_skipped(install_plugin_package)


@pytest.fixture(scope="session")
def opencode_binary(opencode_plugin_package: Path) -> Path:
    assert opencode_plugin_package.is_dir()  # each sandbox copies it
    return installed_or_skipped(install_opencode)


@pytest.fixture(scope="session")
def typescript_compiler() -> TypescriptCompiler:
    return installed_or_skipped(install_typescript)
