"""
What a shell call proves about the tests: read from its command, its exit code and its output.

The runner's own closing words decide, not the exit code of the shell, which pipes and `||` hide.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tokeneconomizer.domain.verdicts.calls import Call, Role, calls_of
from tokeneconomizer.domain.verdicts.case import Case
from tokeneconomizer.domain.verdicts.decide import decide
from tokeneconomizer.domain.verdicts.evidence import evidence_of
from tokeneconomizer.domain.verdicts.looking import only_looks
from tokeneconomizer.domain.verdicts.model import RULES_VERSION, RunnerVerdict, Verdict
from tokeneconomizer.domain.verdicts.output import Output, clean
from tokeneconomizer.domain.verdicts.shell import CommandReading, read_command, read_powershell
from tokeneconomizer.domain.verdicts.statuses import statuses_of
from tokeneconomizer.domain.verdicts.views import numbered, view_of

__all__ = ["RULES_VERSION", "ReadCommand", "RunnerVerdict", "Verdict", "read", "runner_verdict", "verdict_of"]

_POWERSHELL = re.compile(
    r"\$env:|\$LASTEXITCODE|\$PSScriptRoot|\|\s*(?:Select|Where|ForEach|Out|Tee)-|\b(?:Get|Set|"
    r"New|Remove|Invoke|Push)-[A-Z]"
)
"""Words that only PowerShell has."""

_NOTHING = CommandReading(invocations=(), edits=(), parsed=True, quotes_only=True)
"""What is read in a command that only looks."""

_EXIT_CODE_LINE = re.compile(r"^Exit code (?P<code>\d{1,3})$")


COMMANDS_KEPT = 64
"""An agent runs its test command again and again; more than a session's."""

KEPT_COMMAND_CHARACTERS_MAX = 500
"""A longer one is hardly typed twice, and what is kept takes ten times its length."""


class ReadCommand(NamedTuple):
    """A command line, and what was read in it."""

    text: str
    reading: CommandReading
    calls: tuple[Call, ...]


def runner_verdict(command: str, exit_code: int | None, output: str) -> RunnerVerdict:
    """Return what a shell call says about the tests."""
    return verdict_of(read(command), exit_code, output)


def read(command: str) -> ReadCommand:
    """Return what a command line runs and writes, in whichever shell it is for."""
    if len(command) > KEPT_COMMAND_CHARACTERS_MAX:
        return _read(command)
    return _read_and_kept(command)


def _read(command: str) -> ReadCommand:
    if _POWERSHELL.search(command):
        reading = read_powershell(command)
    else:
        reading = _NOTHING if only_looks(command) else read_command(command)
    return ReadCommand(command, reading, tuple(calls_of(reading)))


_read_and_kept = lru_cache(maxsize=COMMANDS_KEPT)(_read)


def verdict_of(command: ReadCommand, exit_code: int | None, output: str) -> RunnerVerdict:
    """Return the verdict on a call whose command is read already."""
    calls, reading = command.calls, command.reading
    if not any(call.role in {Role.RUNNER, Role.WRAPPER} for call in calls):
        return _no_run("no program that runs tests")
    if reading.quotes_only:
        return _no_run("the command only prints texts")
    lines = clean(output, numbered=numbered(calls))
    if exit_code is None:
        exit_code = _exit_code_said(lines)
    case = Case(
        calls,
        evidence_of(command.text, reading, calls, lines),
        view_of(calls, lines),
        statuses_of(command.text, calls, exit_code, lines),
        lines,
    )
    return decide(case)


def _exit_code_said(lines: Output) -> int | None:
    """Return the exit code of the call where the agent has put it before the output."""
    match = _EXIT_CODE_LINE.match(lines.text_at(0))
    return int(match["code"]) if match else None


def _no_run(rule: str) -> RunnerVerdict:
    return RunnerVerdict(Verdict.NOT_A_TEST_RUN, None, False, None, None, None, None, rule, None)  # noqa: FBT003 - fields
