import os
from pathlib import Path

import pytest
from sandbox import Agent, AgentRunError, AgentSandbox, read_all


class Sandbox(AgentSandbox):
    def own_environment(self) -> dict[str, str]:
        return {"GIVEN": "yes"}


@pytest.fixture
def sandbox(tmp_path: Path) -> AgentSandbox:
    return Sandbox(tmp_path / "lab", [tmp_path / "commands"])


def test_a_run_has_its_output_its_errors_its_status_and_nothing_to_read(sandbox: AgentSandbox) -> None:
    done = sandbox.run_command(["sh", "-c", "cat; echo out; echo err >&2; exit 3"])
    assert (done.exit_code, done.output, done.stderr) == (3, "out\n", "err\n")


def test_nothing_is_inherited_but_the_search_path(
    sandbox: AgentSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_USER", "secret")
    lines = dict(line.split("=", 1) for line in sandbox.run_command(["env"]).output.splitlines())
    assert "OF_THE_USER" not in lines
    assert (lines["GIVEN"], lines["HOME"]) == ("yes", str(sandbox.home))
    assert lines["PATH"] == f"{tmp_path / 'commands'}{os.pathsep}{os.environ['PATH']}"


def test_the_project_is_committed(sandbox: AgentSandbox) -> None:
    assert sandbox.run_command(["git", "status", "--short"]).output == ""
    assert "Add the shop" in sandbox.run_command(["git", "log"]).output


def test_a_run_can_be_talked_to(sandbox: AgentSandbox) -> None:
    def talk(agent: Agent) -> str:
        assert agent.stdin is not None
        agent.stdin.write(b"hello")
        agent.stdin.close()
        agent.stdin = None
        return read_all(agent)

    assert sandbox.converse(["cat"], talk).output == "hello"


def test_a_run_over_its_time_is_stopped_with_its_children(sandbox: AgentSandbox) -> None:
    # The child keeps the output open: the run ends only because it is stopped too.
    script = "echo begun; tail -f /dev/null & wait"
    with pytest.raises(AgentRunError, match="did not end within"):
        sandbox.run_command(["sh", "-c", script], timeout_seconds=0.1)
