"""
What the sandboxes of all agents share: a throw-away home with a git repository in it, and headless runs.

Nothing of the user's is read: own HOME, own temporary folder, nothing inherited but the search path.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from npm_agent import AgentUnavailableError
from sample_project import write_sample_project

RUN_SECONDS_MAX = 180  # a scripted turn takes seconds; a hanging agent must fail its test, not stop the run
OUTPUT_EXCERPT_CHARACTERS = 600  # of a run that was stopped: enough to see where it hung
FAKE_KEY = "no-real-key"

Agent = subprocess.Popen[bytes]
Output = TypeVar("Output")


class AgentRunError(Exception):
    """The agent did not end when it should have."""


@dataclass(frozen=True)
class Finished(Generic[Output]):
    """What one headless run left."""

    exit_code: int
    output: Output
    stderr: str
    seconds: float


def read_all(agent: Agent) -> str:
    """Return all output of an agent that is told nothing more than its arguments."""
    output, _ = agent.communicate()
    return output.decode("utf-8", "replace")


def project_folder(folder: Path) -> Path:
    """Return where the project of a sandbox in this folder is, also before it is made."""
    return folder / "home" / "project"


class AgentSandbox:
    """A throw-away home with a git repository in it; an agent's own class says how the agent runs there."""

    def __init__(self, folder: Path, commands: Sequence[Path] = ()) -> None:
        """`commands` are folders in front of the search path."""
        self.home = folder / "home"
        self.project = project_folder(folder)
        self.temporary_folder = folder / "tmp"
        self.search_path = os.pathsep.join([*map(str, commands), os.environ.get("PATH", os.defpath)])
        self.temporary_folder.mkdir(parents=True)
        write_sample_project(self.project)
        self._commit_project()

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the agent: nothing is inherited but the search path."""
        return {
            "PATH": self.search_path,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary_folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second would run the older byte code
            **self.own_environment(),
        }

    def own_environment(self) -> Mapping[str, str]:
        """Return the variables of this agent."""
        return {}

    def run(self, prompt: str, *flags: str) -> Any:
        """Run one prompt headless, in a new session."""
        raise NotImplementedError

    def resume(self, prompt: str, *flags: str) -> Any:
        """Run one prompt headless, in a new process that goes on with the last session."""
        raise NotImplementedError

    def run_command(
        self, arguments: Sequence[str | Path], *, timeout_seconds: float = RUN_SECONDS_MAX
    ) -> Finished[str]:
        """Run a program in the project with nothing on its input; AgentRunError when it takes too long."""
        return self.converse(arguments, read_all, timeout_seconds=timeout_seconds, stdin=subprocess.DEVNULL)

    def converse(
        self,
        arguments: Sequence[str | Path],
        talk: Callable[[Agent], Output],
        *,
        timeout_seconds: float = RUN_SECONDS_MAX,
        stdin: int = subprocess.PIPE,
    ) -> Finished[Output]:
        """Run a program in the project; `talk` has its pipes until the output ends, and gives the output."""
        started = time.monotonic()
        stderr_path = self.temporary_folder / f"stderr-{time.time_ns()}"
        with (
            stderr_path.open("wb") as stderr,
            subprocess.Popen(
                [str(argument) for argument in arguments],
                cwd=self.project,
                env=self.environment(),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,  # its children are stopped with it
            ) as agent,
            _stopped_after(timeout_seconds, agent) as expired,
        ):
            output = talk(agent)
            exit_code = agent.wait()
        complaints = stderr_path.read_text(encoding="utf-8", errors="replace")
        if expired.is_set():
            ends = (
                f"{str(output)[-OUTPUT_EXCERPT_CHARACTERS:]!r}, {complaints[-OUTPUT_EXCERPT_CHARACTERS:]!r}"
            )
            message = f"{arguments[0]} did not end within {timeout_seconds} s; its outputs end with {ends}"
            raise AgentRunError(message)
        return Finished(exit_code, output, complaints, time.monotonic() - started)

    def _commit_project(self) -> None:
        git = shutil.which("git")
        if git is None:
            message = "git was not found: install it to run the tests with a real agent"
            raise AgentUnavailableError(message)
        author = {"NAME": "dev", "EMAIL": "dev@example.invalid"}
        identity = {
            f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in author.items()
        }
        for arguments in (
            ("init", "--quiet"),
            ("add", "."),
            ("commit", "--quiet", "--no-gpg-sign", "--message", "Add the shop"),
        ):
            environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), **identity}
            subprocess.run([git, *arguments], cwd=self.project, env=environment, check=True)


@contextmanager
def _stopped_after(seconds: float, agent: Agent) -> Iterator[threading.Event]:
    """Kill the agent's whole group when the time is over, or when the block is left by an error."""
    expired = threading.Event()

    def stop() -> None:
        # Its group has its id; a group that is gone already is well.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(agent.pid, signal.SIGKILL)

    def expire() -> None:
        expired.set()
        stop()

    timer = threading.Timer(seconds, expire)
    timer.start()
    try:
        yield expired
    except BaseException:
        stop()
        raise
    finally:
        timer.cancel()
