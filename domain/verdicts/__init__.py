"""
What a shell call proves about the tests: read from its command, its exit code and its output.

The runner's own closing words decide, not the exit code of the shell, which pipes and `||` hide.
"""

from __future__ import annotations

import re

from tokeneconomizer.domain.verdicts.calls import Role, calls_of
from tokeneconomizer.domain.verdicts.case import Case
from tokeneconomizer.domain.verdicts.decide import decide
from tokeneconomizer.domain.verdicts.evidence import evidence_of
from tokeneconomizer.domain.verdicts.model import RULES_VERSION, RunnerVerdict, Verdict
from tokeneconomizer.domain.verdicts.output import Output, clean
from tokeneconomizer.domain.verdicts.shell import CommandReading, read_command, read_powershell
from tokeneconomizer.domain.verdicts.statuses import statuses_of
from tokeneconomizer.domain.verdicts.views import numbered, view_of

__all__ = ["RULES_VERSION", "RunnerVerdict", "Verdict", "read", "runner_verdict", "verdict_of"]

_POWERSHELL = re.compile(
    r"\$env:|\$LASTEXITCODE|\$PSScriptRoot|\|\s*(?:Select|Where|ForEach|Out|Tee)-|\b(?:Get|Set|"
    r"New|Remove|Invoke|Push)-[A-Z]"
)
"""Words that only PowerShell has."""

_EXIT_CODE_LINE = re.compile(r"^Exit code (?P<code>\d{1,3})$")


def runner_verdict(command: str, exit_code: int | None, output: str) -> RunnerVerdict:
    """Return what a shell call says about the tests."""
    return verdict_of(command, read(command), exit_code, output)


def read(command: str) -> CommandReading:
    """Return what a command line runs and writes, in whichever shell it is for."""
    return read_powershell(command) if _POWERSHELL.search(command) else read_command(command)


def verdict_of(command: str, reading: CommandReading, exit_code: int | None, output: str) -> RunnerVerdict:
    """Return the verdict on a call whose command is read already."""
    calls = calls_of(reading)
    if not any(call.role in {Role.RUNNER, Role.WRAPPER} for call in calls):
        return _no_run("no program that runs tests")
    if reading.quotes_only:
        return _no_run("the command only prints texts")
    lines = clean(output, numbered=numbered(calls))
    if exit_code is None:
        exit_code = _exit_code_said(lines)
    case = Case(
        calls,
        evidence_of(command, reading, calls, lines),
        view_of(calls, lines),
        statuses_of(command, calls, exit_code, lines),
        lines,
    )
    return decide(case)


def _exit_code_said(lines: Output) -> int | None:
    """Return the exit code of the call where the agent has put it before the output."""
    match = _EXIT_CODE_LINE.match(lines.text_at(0))
    return int(match["code"]) if match else None


def _no_run(rule: str) -> RunnerVerdict:
    return RunnerVerdict(Verdict.NOT_A_TEST_RUN, None, False, None, None, None, None, rule, None)  # noqa: FBT003 - fields
