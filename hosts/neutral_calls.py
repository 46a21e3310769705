"""Neutral JSON Lines, for replays: `{"user": text}` and `{"tool", "input", "output", "is_error"}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.claude_code.payload import call_from, exit_code_in, never_ran, text_of_result
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.hosts.records import ReplayRecord

NAME = "calls"

KINDS = {
    "bash": CallKind.SHELL,
    "create": CallKind.EDIT,
    "edit": CallKind.EDIT,
    "find_file": CallKind.SEARCH,
    "open": CallKind.READ,
    "read": CallKind.READ,
    "shell": CallKind.SHELL,
    "write": CallKind.EDIT,
}
"""Names that recorded runs use, in lower case; Claude Code's own names are known besides."""


def read(lines: Iterable[bytes]) -> Iterator[ReplayRecord]:
    """Yield the records of neutral lines; each call is a step of its own."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            line = None
        if isinstance(line, dict) and isinstance(line.get("user"), str):
            yield LoggedPrompt(number, None, f"line {number}", line["user"], PromptKind.HUMAN)
        elif isinstance(line, dict) and isinstance(line.get("tool"), str) and line["tool"]:
            yield _step(number, line)
        else:
            yield SkippedLine(number)


def _step(number: int, line: dict[str, object]) -> LoggedStep:
    output = text_of_result(line.get("output"))
    given = line.get("input")
    named = {
        "tool_name": line["tool"],
        "tool_input": given if isinstance(given, dict) else {"input": given},
        "tool_use_id": f"line {number}",
    }
    kind = KINDS.get(str(line["tool"]).lower())
    return LoggedStep((call_from(named, output, _status(line, output), kind=kind),), (number,), number, None)


def _status(line: dict[str, object], output: str) -> CallStatus:
    """Return the status; where the line does not say, a text that opens with an exit code failed."""
    is_error = line.get("is_error")
    if is_error is None:
        is_error = never_ran(output) or bool(exit_code_in(output))
    if not is_error:
        return CallStatus.OK
    return CallStatus.NEVER_RAN if never_ran(output) else CallStatus.FAILED
