"""How a call ended, by what Codex tells of it: an event of its own, or the text that the model gets."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.fields import flag, mapping, number, objects, text, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = re.compile(
    r"(?:Chunk ID: \S*\n)?"
    r"(?:Exit code: (?P<code>-?\d+)\n|Script (?P<script>completed|failed|terminated|running)\b[^\n]*\n)?"
    r"Wall time:? (?P<seconds>\d+(?:\.\d+)?) seconds\n"
    r"(?:Process exited with code (?P<exited>-?\d+)\n|Process running with session ID (?P<running>[^\n]*)\n)?"
    r"(?:Original token count: \d+\n)?"
    r"(?:Total output lines: \d+\n)?"
    r"(?:Output:(?:\n|\Z)|(?P<aborted>aborted by user))"
)
"""What shells (since 0.36), MCP servers and scripts have before their output."""

_NEVER_RAN = re.compile(
    r"failed to parse function arguments|unsupported (?:custom tool )?call|unsupported tool"
    r"|(?:exec command|patch|tool call|MCP tool call)? ?rejected\b|user (?:rejected|cancelled) MCP tool call"
    r"|approval policy is|Tool call blocked by|Command blocked by"
)
_ABORTED = re.compile(r"aborted\b")
_FAILED = re.compile(
    r"apply_patch verification failed|write_stdin failed|exec_command failed|execution error"
    r"|failed in sandbox|unable to (?:locate|read|process) image|tool call error"
    r"|collab (?:spawn|tool) failed|agent with id \S+ not found"
)
_TIMED_OUT = re.compile(r"command timed out after \d+ milliseconds")

_RESULT_IN_SCRIPT = re.compile(r'^\{"(?:[a-z_]+":[^,\n]{1,60},"){0,3}exit_code":(-?\d+)', re.MULTILINE)
"""A command's result, as scripts print it for the model."""

_FAILED_STATUSES = frozenset({"failed", "declined"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    How a call ended; fields as in `domain.digests.Call`.

    Attributes:
        running: names the process that goes on, for `write_stdin`; empty when it ended.

    """

    text: str
    status: CallStatus = CallStatus.OK
    exit_code: int | None = None
    interrupted: bool = False
    duration_ms: int | None = None
    running: str = ""


def outcome_of_text(output: str, *, has_unseen_calls: bool = False) -> Outcome:
    """
    Read what the model was told; 0.35 and older told an object, as text.

    `has_unseen_calls`: of a script, that the log does not show the commands that it ran. Then one that failed
    is the script's failure.
    """
    header = _HEADER.match(output)
    if header is not None:
        told = _outcome_of_header(header, output[header.end() :])
        return _with_printed_code(told) if header["script"] and has_unseen_calls else told
    if output.startswith('{"output":'):
        return _outcome_of_object(output)
    if _NEVER_RAN.match(output):
        return Outcome(output, CallStatus.NEVER_RAN)
    if _ABORTED.match(output):
        return Outcome(output, CallStatus.FAILED, interrupted=True)
    return Outcome(output, CallStatus.FAILED if _FAILED.match(output) else CallStatus.OK)


def _outcome_of_header(header: re.Match[str], output: str) -> Outcome:
    code = header["code"] or header["exited"]
    is_aborted = header["aborted"] is not None
    is_failed = header["script"] == "failed" or is_aborted
    ended = _ended(output, int(code) if code else None, float(header["seconds"]))
    if not is_failed:
        return replace(ended, running=header["running"] or "")
    return Outcome(output, CallStatus.FAILED, None, is_aborted, ended.duration_ms)


def _with_printed_code(told: Outcome) -> Outcome:
    code = next((int(code) for code in _RESULT_IN_SCRIPT.findall(told.text) if int(code)), None)
    return told if code is None else replace(told, status=CallStatus.FAILED, exit_code=code)


def _outcome_of_object(output: str) -> Outcome:
    try:
        told = orjson.loads(output)
    except orjson.JSONDecodeError:
        return Outcome(output)
    metadata = mapping(told, "metadata")
    return _ended(
        text(told, "output"), whole_number(metadata, "exit_code"), number(metadata, "duration_seconds")
    )


def _ended(output: str, exit_code: int | None, seconds: float | None) -> Outcome:
    return Outcome(
        output,
        CallStatus.FAILED if exit_code else CallStatus.OK,
        exit_code,
        _TIMED_OUT.match(output) is not None,
        None if seconds is None else round(seconds * 1_000),
    )


def outcome_of_command(told: Mapping[str, object]) -> Outcome:
    """Read how a command ended: its item, or in older versions its event, with the same fields."""
    exit_code = whole_number(told, "exit_code")
    status = CallStatus.FAILED if exit_code or text(told, "status") in _FAILED_STATUSES else CallStatus.OK
    if text(told, "status") == "declined":
        status, exit_code = CallStatus.NEVER_RAN, None
    output = text(told, "aggregated_output") or text(told, "stdout") + text(told, "stderr")
    return Outcome(output, status, exit_code, _TIMED_OUT.match(output) is not None, _duration_ms(told))


def outcome_of_patch(told: Mapping[str, object]) -> Outcome:
    """Read how a patch ended: its item, or in older versions its event."""
    is_failed = flag(told, "success") is False or text(told, "status") in _FAILED_STATUSES
    status = CallStatus.FAILED if is_failed else CallStatus.OK
    if text(told, "status") == "declined":
        status = CallStatus.NEVER_RAN
    return Outcome(text(told, "stdout") + text(told, "stderr"), status)


def outcome_of_mcp(told: Mapping[str, object]) -> Outcome:
    """Read how a call of an MCP server ended: its item, or in older versions its event."""
    result = mapping(told, "result")
    answer = mapping(result, "Ok") or result
    error = text(result, "Err") or text(told, "error") or text(mapping(told, "error"), "message")
    is_failed = bool(error) or flag(answer, "isError") is True or text(told, "status") in _FAILED_STATUSES
    output = text_of(answer.get("content")) or error
    return Outcome(output, CallStatus.FAILED if is_failed else CallStatus.OK, duration_ms=_duration_ms(told))


def _duration_ms(told: Mapping[str, object]) -> int | None:
    duration = mapping(told, "duration")
    seconds, nanoseconds = whole_number(duration, "secs"), whole_number(duration, "nanos")
    return None if seconds is None else seconds * 1_000 + round((nanoseconds or 0) / 1_000_000)


def text_of(content: object) -> str:
    """Return an output's text: a text, or an object or a list with texts and pictures."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("content") or content.get("output"))
    parts = objects({"content": content}, "content")
    # A header is a part of its own, with or without the end of its line.
    return "\n".join(text(part, "text").removesuffix("\n") for part in parts if text(part, "text"))
