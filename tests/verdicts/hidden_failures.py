"""
List the runner calls that an agent saw as a success while their output counts failures.

    python tests/verdicts/hidden_failures.py [FOLDER]

Reads the recorded sessions of all agents below the folder, which has a folder for each, and prints one line a
call: verdict, numbers, how the exit code was hidden, and where the call stands.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.domain.verdicts import Verdict, runner_verdict
from tokeneconomizer.domain.verdicts.shell import read_command
from tokeneconomizer.hosts.records import LoggedStep
from tokeneconomizer.scheduler.replay_sources import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.domain.verdicts import RunnerVerdict

REPOSITORY = Path(__file__).resolve().parents[2]

FOLDERS = {
    "claude": "claude_code",
    "codex": "codex",
    "copilot": "copilot",
    "pi": "pi",
    "opencode": "opencode",
}
"""Folder of the recordings -> the agent that wrote them."""


@dataclass(frozen=True)
class ShellCall:
    """One call of a shell tool with its result."""

    file: Path
    line: int
    call: Call


def default_folder() -> Path:
    """Return where the recordings are, unless a folder is named."""
    folder = os.environ.get("TOKENECONOMIZER_CORPUS")
    return (Path(folder) if folder else REPOSITORY.parent / "shared") / "transcripts" / "real"


def shell_calls(file: Path, host: str) -> Iterator[ShellCall]:
    """Yield the shell calls of a session that ran."""
    for record in records_of(file, host):
        if isinstance(record, LoggedStep):
            for line, call in zip(record.lines, record.calls, strict=True):
                if call.command and not call.background and call.status is not CallStatus.NEVER_RAN:
                    yield ShellCall(file, line, call)


def recordings(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each log below the folder, and whose it is."""
    for name, host in FOLDERS.items():
        for file in sorted((folder / name).rglob("*.json*")):
            yield file, host


def is_hidden_failure(call: Call, verdict: RunnerVerdict) -> bool:
    """Whether a call passed for the agent although its output counts failures."""
    return (
        call.status is CallStatus.OK
        and verdict.verdict in {Verdict.FAILED, Verdict.ERROR}
        and bool(verdict.failed or verdict.errors or verdict.line)
    )


def how_hidden(command: str) -> str:
    """Return what kept the exit code from the agent."""
    runs = read_command(command).invocations
    if any(run.piped_into for run in runs):
        return "pipe"
    return "||" if "||" in command else "; or newline"


def main() -> None:
    """Print the list and its sums."""
    parser = argparse.ArgumentParser(description="List hidden test failures in recorded sessions.")
    parser.add_argument("folder", nargs="?", type=Path, default=default_folder())
    folder = parser.parse_args().folder
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: name a folder of recordings")
    verdicts: dict[str, Counter[str]] = {host: Counter() for host in FOLDERS.values()}
    ways: Counter[str] = Counter()
    for file, host in recordings(folder):
        for shell in shell_calls(file, host):
            call = shell.call
            said = runner_verdict(call.command, call.exit_code, call.output)
            verdicts[host][said.verdict.value] += 1
            if is_hidden_failure(call, said):
                way = how_hidden(call.command)
                ways[way] += 1
                place = f"{file.relative_to(folder)}:{shell.line}"
                numbers = f"failed {said.failed}, errors {said.errors}, passed {said.passed}"
                sys.stdout.write(
                    f"{said.verdict.value} {said.framework}: {numbers} [{way}] {said.rule} {place}\n"
                )
    for host, counted in verdicts.items():
        sys.stdout.write(f"{host}: {dict(counted)}\n")
    sys.stdout.write(f"hidden failures: {sum(ways.values())} {dict(ways)}\n")


if __name__ == "__main__":
    main()
