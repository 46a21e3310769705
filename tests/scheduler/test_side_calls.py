"""Side calls: what they are given, and that none outlives its time (S2.9)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.hosts.hook import te_hook_core
from tokeneconomizer.hosts.side_call import MARK, NO_LEFTOVERS, Answer, CommandLine, Leftovers, Question
from tokeneconomizer.scheduler.side_calls import SideCalls

if TYPE_CHECKING:
    from tokeneconomizer.hosts.log_format import AgentHomes

HOST = "agent"
NEVER_S = 600.0

TELLS_ALL = """
import json, os, sys
print(json.dumps([sys.argv[1:], sys.stdin.read(), dict(os.environ), os.getcwd(), os.listdir()]))
"""
HANGS_WITH_A_CHILD = """
import os, subprocess, sys
child = subprocess.Popen(["tail", "-f", "/dev/null"])
with open(os.environ["PIDS"], "w") as pids:
    pids.write(f"{os.getpid()} {child.pid}")
child.wait()
"""
ENDS_AND_LEAVES_A_CHILD = HANGS_WITH_A_CHILD.replace("child.wait()", "")


class Agent:
    """An agent whose program is a few lines of Python."""

    def __init__(self, left: Leftovers = NO_LEFTOVERS, files: dict[str, bytes] | None = None) -> None:
        self.left, self.files = left, files or {}
        self.homes: AgentHomes | None = None

    def command_line(self, question: Question) -> CommandLine:
        arguments, stdin = (question.instructions,), question.text.encode()
        return CommandLine("fake", arguments, stdin, {"OF_THE_LINE": "1"}, self.files)

    def answer_in(self, output: bytes) -> Answer | None:
        return Answer(output.decode(), "", None) if output else None

    def leftovers(self, _line: CommandLine, _output: bytes, homes: AgentHomes) -> Leftovers:
        self.homes = homes
        return self.left


def program(folder: Path, code: str) -> dict[str, str]:
    """Write the agent's program; return its environment."""
    path = folder / "bin" / "fake"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable} -S\n{code}")
    path.chmod(0o700)
    return {"PATH": f"{path.parent}:{os.environ['PATH']}", "KEY": "k", "PIDS": str(folder / "pids")}


def ask(environment: dict[str, str], seconds_max: float = NEVER_S, agent: Agent | None = None) -> Answer:
    calls = SideCalls({HOST: environment}, {HOST: agent or Agent()}, seconds_max)
    return asyncio.run(calls.ask(HOST, calls.ready(HOST, Question("judge this", "a digest"))))


def wait_until_gone(pid: int) -> None:
    """Return when the process is dead: a signal is on its way for a moment."""
    while _lives(pid):
        time.sleep(0.005)


def _lives(pid: int) -> bool:
    try:
        # A child whose parent was killed is a zombie until somebody reaps it.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_gets_the_text_on_stdin_the_agents_environment_the_mark_and_an_empty_folder(
    tmp_path: Path,
) -> None:
    environment = program(tmp_path, TELLS_ALL)
    arguments, stdin, variables, folder, files = json.loads(ask(environment).text)

    assert (arguments, stdin, files) == (["judge this"], "a digest", [])
    wanted = {**environment, "OF_THE_LINE": "1", MARK: "1"}
    assert {name: value for name, value in variables.items() if name in wanted} == wanted
    assert "HOME" not in variables
    assert not Path(folder).exists()


def test_its_folder_holds_the_files_that_the_agent_asks_for(tmp_path: Path) -> None:
    agent = Agent(files={"instructions.md": b"be short"})
    environment = program(tmp_path, "print(open('instructions.md').read(), end='')")

    assert ask(environment, agent=agent).text == "be short"


@pytest.mark.parametrize(
    ("code", "seconds_max"),
    [("print('answer')", NEVER_S), ("import time; time.sleep(600)", 1.0)],
    ids=["answered", "hung"],
)
def test_what_the_agent_keeps_of_it_is_removed_whatever_came_of_it(
    tmp_path: Path, code: str, seconds_max: float
) -> None:
    session, deleted = tmp_path / "session", tmp_path / "deleted"
    session.mkdir()
    (session / "log").write_text("what was asked")
    agent = Agent(Leftovers(arguments=("delete", str(deleted)), folders=(session,)))
    deletes = f"import sys\nif sys.argv[1] == 'delete':\n    open(sys.argv[2], 'w'); raise SystemExit\n{code}"
    with suppress(SideCallFailed):
        ask({**program(tmp_path, deletes), "HOME": str(tmp_path)}, seconds_max, agent)

    assert deleted.exists()
    assert not session.exists()
    assert agent.homes is not None
    assert agent.homes.home == tmp_path


def test_the_mark_is_the_one_that_the_hook_client_looks_for() -> None:
    assert f'environ.get(b"{MARK}")' in Path(te_hook_core.__file__).read_text()


@pytest.mark.parametrize(
    "code", [HANGS_WITH_A_CHILD, ENDS_AND_LEAVES_A_CHILD], ids=["hangs", "leaves a child"]
)
def test_one_that_does_not_end_is_killed_with_its_children(tmp_path: Path, code: str) -> None:
    environment = program(tmp_path, code)
    with pytest.raises(SideCallFailed, match="did not answer within"):
        ask(environment, seconds_max=2.0)

    for pid in (tmp_path / "pids").read_text().split():
        wait_until_gone(int(pid))


def test_one_that_the_daemon_gives_up_is_killed_too(tmp_path: Path) -> None:
    environment = program(tmp_path, HANGS_WITH_A_CHILD)
    calls = SideCalls({HOST: environment}, {HOST: Agent()}, NEVER_S)
    pids = tmp_path / "pids"

    async def give_up() -> None:
        task = asyncio.create_task(calls.ask(HOST, calls.ready(HOST, Question("", ""))))
        while not pids.exists() or " " not in pids.read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", "printed no answer"),
        ("raise SystemExit(3)", "printed no answer"),
        ("while True: print('x' * 100_000)", "more than an answer"),
    ],
)
def test_one_that_says_nothing_or_too_much_is_told(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(SideCallFailed, match=words):
        ask(program(tmp_path, code))


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    environment = program(tmp_path, "")
    (tmp_path / "bin" / "fake").write_text("#!/no/such/interpreter\n")
    with pytest.raises(SideCallFailed, match="could not be started"):
        ask(environment)


@pytest.mark.parametrize(
    ("environments", "callers", "words"),
    [
        ({HOST: {"PATH": "/nowhere"}}, {HOST: Agent()}, "`fake` is not in the PATH"),
        ({}, {HOST: Agent()}, "no session of agent has started"),
        ({HOST: {}}, {}, "cannot be asked by this version"),
    ],
)
def test_an_agent_that_cannot_be_asked_is_told_before_anything_is_started(
    environments: dict[str, dict[str, str]], callers: dict[str, Agent], words: str
) -> None:
    with pytest.raises(SideCallFailed, match=words):
        SideCalls(environments, callers).ready(HOST, Question("", ""))
