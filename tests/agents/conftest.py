import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

# Test helpers are imported by name, as pytest's importlib mode puts no test folder on the path.
sys.path.insert(0, str(Path(__file__).parent))

from lab import AgentUnderTest, Lab, Story
from npm_agent import AgentUnavailableError
from scenarios import honest_fix
from typescript import TypescriptCompiler, install_typescript

Installed = TypeVar("Installed")


def installed_or_skipped(install: Callable[[], Installed]) -> Installed:
    try:
        return install()
    except AgentUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def agent(request: pytest.FixtureRequest) -> AgentUnderTest[Any]:
    """The agent that a test module is about: its `AGENT`."""
    found: AgentUnderTest[Any] = request.module.AGENT
    return found


@pytest.fixture(scope="module")
def agent_program(agent: AgentUnderTest[Any]) -> object:
    return installed_or_skipped(agent.install)


@pytest.fixture
def make_lab(
    tmp_path: Path, agent: AgentUnderTest[Any], agent_program: object
) -> Iterator[Callable[..., Lab[Any]]]:
    made: list[Lab[Any]] = []

    def make(story: Story, **options: str) -> Lab[Any]:
        made.append(Lab(agent, agent_program, tmp_path / f"lab-{len(made)}", story, **options))
        return made[-1]

    yield make
    for lab in made:
        lab.server.close()
        lab.program.stop()


@pytest.fixture(scope="module")
def bare_lab(
    tmp_path_factory: pytest.TempPathFactory, agent: AgentUnderTest[Any], agent_program: object
) -> Lab[Any]:
    return Lab(agent, agent_program, tmp_path_factory.mktemp("bare") / "lab-0", honest_fix)


@pytest.fixture(scope="module")
def run_without_us(bare_lab: Lab[Any]) -> tuple[Lab[Any], Any]:
    """A usual run without us, and its laboratory: what a run with us is compared with."""
    (run,) = bare_lab.run()
    return bare_lab, run


@pytest.fixture(scope="session")
def typescript_compiler() -> TypescriptCompiler:
    return installed_or_skipped(install_typescript)
