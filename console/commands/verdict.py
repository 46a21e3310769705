"""`te verdict`: what recorded shell calls prove about the tests. Needs neither daemon nor store."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.verdicts import runner_verdict
from tokeneconomizer.domain.verdicts.output import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.verdicts import RunnerVerdict

FIELDS = "id, command, shell_exit_code, output"


@click.command(name="verdict")
@click.option("--explain", is_flag=True, help="Also name the rule and the line of the output that decided.")
def command(*, explain: bool) -> None:
    """Say what recorded shell calls prove about the tests."""
    output.print_json_lines(_answers(sys.stdin.buffer, explain=explain))


def _answers(lines: Iterable[bytes], *, explain: bool) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        record = _record(line, number)
        text = _text(record, "output", number)
        said = runner_verdict(_text(record, "command", number), _exit_code(record, number), text)
        yield {"id": record.get("id")} | _shown(said) | (_explained(said, text) if explain else {})


def _shown(said: RunnerVerdict) -> dict[str, object]:
    return {
        "ran_tests": said.ran_tests,
        "verdict": said.verdict.value,
        "framework": said.framework,
        "passed": said.passed,
        "failed": said.failed,
        "errors": said.errors,
        "skipped": said.skipped,
    }


def _explained(said: RunnerVerdict, text: str) -> dict[str, object]:
    line = None
    if said.line is not None:
        line = clean(text.split("\n")[said.line - 1]).text
    return {"rule": said.rule, "line": said.line, "line_text": line, "rules_version": said.version}


def _record(line: bytes, number: int) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"line {number} of the input is no JSON: give one object a line, with {FIELDS}"
        raise TokeneconomizerError(message) from error
    if not isinstance(record, dict):
        message = f"line {number} of the input is no object: give one object a line, with {FIELDS}"
        raise TokeneconomizerError(message)
    return record


def _text(record: dict[str, object], name: str, number: int) -> str:
    value = record.get(name, "")
    if isinstance(value, str):
        return value
    message = f"`{name}` in line {number} of the input is no text: give a string"
    raise TokeneconomizerError(message)


def _exit_code(record: dict[str, object], number: int) -> int | None:
    value = record.get("shell_exit_code")
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    message = f"`shell_exit_code` in line {number} of the input is no whole number: give one, or null"
    raise TokeneconomizerError(message)
