"""
List the runner calls that an agent saw as a success while their output counts failures.

    python tests/verdicts/hidden_failures.py [FOLDER]

Reads recorded sessions of Claude Code below the folder and prints one line a call: verdict, numbers,
how the exit code was hidden, and where the call stands.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts import Verdict, runner_verdict
from tokeneconomizer.domain.verdicts.shell import read_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts import RunnerVerdict

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class ShellCall:
    """One call of a shell tool with its result."""

    file: Path
    line: int
    command: str
    output: str
    failed: bool


def default_folder() -> Path:
    """Return where the recordings are, unless a folder is named."""
    folder = os.environ.get("TOKENECONOMIZER_CORPUS")
    return (Path(folder) if folder else REPOSITORY.parent / "shared") / "transcripts" / "real" / "claude"


def shell_calls(file: Path) -> Iterator[ShellCall]:
    """Yield the shell calls of a session that have a result."""
    commands: dict[str, str] = {}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            for part in _parts(line):
                if part.get("type") == "tool_use" and part.get("name") == "Bash":
                    commands[part.get("id", "")] = str((part.get("input") or {}).get("command", ""))
                elif part.get("type") == "tool_result" and part.get("tool_use_id") in commands:
                    command = commands.pop(part["tool_use_id"])
                    yield ShellCall(
                        file, number, command, _text(part.get("content")), bool(part.get("is_error"))
                    )


def _parts(line: str) -> list[dict]:  # type: ignore[type-arg]
    try:
        record = json.loads(line)
    except ValueError:
        return []
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def is_hidden_failure(call: ShellCall, verdict: RunnerVerdict) -> bool:
    """Whether a call passed for the agent although its output counts failures."""
    return (
        not call.failed
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
    verdicts: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.jsonl")):
        for call in shell_calls(file):
            said = runner_verdict(call.command, None if call.failed else 0, call.output)
            verdicts[said.verdict.value] += 1
            if is_hidden_failure(call, said):
                way = how_hidden(call.command)
                ways[way] += 1
                place = f"{file.relative_to(folder)}:{call.line}"
                numbers = f"failed {said.failed}, errors {said.errors}, passed {said.passed}"
                sys.stdout.write(
                    f"{said.verdict.value} {said.framework}: {numbers} [{way}] {said.rule} {place}\n"
                )
    sys.stdout.write(
        f"calls by verdict: {dict(verdicts)}\nhidden failures: {sum(ways.values())} {dict(ways)}\n"
    )


if __name__ == "__main__":
    main()
