"""
Calls of our own through the user's agents: in an empty folder, with a time limit, and never able to call us.

Each runs as a process group of its own at the lowest priority, with the environment that the agent's hook
client handed over at its newest session start and the mark that makes our hook client leave at once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.hosts.claude_code import side_call as claude_code
from tokeneconomizer.hosts.codex import side_call as codex
from tokeneconomizer.hosts.copilot import side_call as copilot
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.opencode import side_call as opencode
from tokeneconomizer.hosts.pi import side_call as pi
from tokeneconomizer.hosts.recognise import CLAUDE_CODE, CODEX, COPILOT, OPENCODE, PI
from tokeneconomizer.hosts.side_call import MARK, Answer
from tokeneconomizer.scheduler.child import LOWEST_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.hosts.side_call import CommandLine, Leftovers, Question, SideCaller

CALLERS: Mapping[str, SideCaller] = {
    CLAUDE_CODE: claude_code,
    CODEX: codex,
    COPILOT: copilot,
    PI: pi,
    OPENCODE: opencode,
}
"""The agents that can be asked, by name."""

SIDE_CALL_S_MAX = 60.0
"""A start of the agent and one small reply take some five seconds; what comes later helps no turn."""

REMOVING_S_MAX = 20.0
"""Removing a session takes an agent's start and a moment."""

OUTPUT_BYTES_MAX = 1_000_000
"""A result object has some kilobytes."""

STDIN, STDOUT = 0, 1

FOLDER_PREFIX = "side-call-"


@dataclass(frozen=True, slots=True)
class Ready:
    """A side call that can be made: its program was found."""

    program: str
    line: CommandLine
    environment: Mapping[str, str]


class SideCalls:
    """
    Makes side calls.

    Args:
        environments: what each agent's hook client handed over, by host.
        callers: the agents that can be asked.
        seconds_max: after so long a call is killed, with its children.

    """

    def __init__(
        self,
        environments: Mapping[str, Mapping[str, str]],
        callers: Mapping[str, SideCaller] = CALLERS,
        seconds_max: float = SIDE_CALL_S_MAX,
    ) -> None:
        self._environments = environments
        self._callers = callers
        self._seconds_max = seconds_max

    def ready(self, host: str, question: Question) -> Ready:
        """
        Return the call, found to be possible; nothing is started.

        Raises:
            SideCallFailed: the agent cannot be asked.

        """
        caller, environment = self._callers.get(host), self._environments.get(host)
        if caller is None:
            message = f"{host} cannot be asked by this version: switch off for it what asks"
            raise SideCallFailed(message)
        if environment is None:
            message = (
                f"no session of {host} has started since the daemon did: the next one brings its environment"
            )
            raise SideCallFailed(message)
        line = caller.command_line(replace(question, homes=_homes(environment)))
        program = shutil.which(line.program, path=environment.get("PATH", os.defpath))
        if program is None:
            message = f"`{line.program}` is not in the PATH that {host}'s hooks have: install it there"
            raise SideCallFailed(message)
        return Ready(program, line, {**environment, **line.environment, MARK: "1"})

    async def ask(self, host: str, call: Ready) -> Answer:
        """
        Make the call and return its answer.

        Raises:
            SideCallFailed: it did not start, did not end in time, or printed no answer.

        """
        caller, output = self._callers[host], bytearray()
        with TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
            _fill(folder, call.line.files)
            try:
                await self._run(call, folder, output, self._seconds_max)
            finally:
                await self._remove(
                    caller.leftovers(call.line, bytes(output), _homes(call.environment)), call, folder
                )
        answer = caller.answer_in(bytes(output))
        if answer is None:
            message = f"`{call.line.program}` printed no answer: see whether it works in a terminal"
            raise SideCallFailed(message)
        return answer

    async def _remove(self, leftovers: Leftovers, call: Ready, folder: str) -> None:
        for left in leftovers.folders:
            shutil.rmtree(left, ignore_errors=True)
        if leftovers.arguments:
            line = replace(call.line, arguments=leftovers.arguments, stdin=b"")
            with suppress(SideCallFailed):
                await self._run(replace(call, line=line), folder, bytearray(), REMOVING_S_MAX)

    async def _run(self, call: Ready, folder: str, output: bytearray, seconds_max: float) -> None:
        try:
            transport, talk = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Talk(output),
                call.program,
                *call.line.arguments,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=folder,
                env=dict(call.environment),
                start_new_session=True,
            )
        except OSError as error:
            message = f"`{call.program}` could not be started ({error}): see whether it works in a terminal"
            raise SideCallFailed(message) from error
        group = transport.get_pid()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, group, LOWEST_PRIORITY)
        _tell(transport, call.line.stdin)
        try:
            await asyncio.wait_for(talk.is_over, seconds_max)
        except TimeoutError as error:
            message = f"`{call.line.program}` did not answer within {seconds_max:g} s and was ended"
            raise SideCallFailed(message) from error
        finally:
            # Whatever it started goes with it, also when the daemon stops or the output is too long.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
            await talk.has_exited
            transport.close()


class _Talk(asyncio.SubprocessProtocol):
    """
    Gathers what a program prints, up to a bound.

    The streams of asyncio wait for a pipe that a grandchild may hold open for ever; this one is closed.

    Args:
        output: takes what is printed.

    """

    def __init__(self, output: bytearray) -> None:
        loop = asyncio.get_running_loop()
        self.output = output
        self.is_over: asyncio.Future[None] = loop.create_future()
        self.has_exited: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - there is stdout alone
        self.output += data
        if len(self.output) > OUTPUT_BYTES_MAX and not self.is_over.done():
            message = "the side call printed more than an answer: it was ended"
            self.is_over.set_exception(SideCallFailed(message))

    def pipe_connection_lost(self, fd: int, _error: Exception | None) -> None:
        if fd == STDOUT and not self.is_over.done():
            self.is_over.set_result(None)

    def process_exited(self) -> None:
        if not self.has_exited.done():
            self.has_exited.set_result(None)


def _tell(transport: asyncio.SubprocessTransport, text: bytes) -> None:
    stdin = transport.get_pipe_transport(STDIN)
    if isinstance(stdin, asyncio.WriteTransport):
        stdin.write(text)
        # Closes it once everything is written.
        stdin.close()


def _homes(environment: Mapping[str, str]) -> AgentHomes:
    return AgentHomes(Path(environment.get("HOME") or Path.home()), environment)


def _fill(folder: str, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        Path(folder, name).write_bytes(content)
