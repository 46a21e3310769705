"""The last lines of a session's log, read while the agent waits: how its newest calls ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.claude_code.log_reader import TranscriptReader
from tokeneconomizer.hosts.fields import mapping, objects, text
from tokeneconomizer.hosts.records import SkippedLine
from tokeneconomizer.hosts.steps import calls_after_prompt, steps_of
from tokeneconomizer.hosts.tail_lines import from_the_line_that_names, lines_from_the_end, object_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import Record, ReplayRecord

_NO_FILE = Path()


def read(lines: Iterable[bytes]) -> Iterator[ReplayRecord]:
    """Yield the prompts, steps and stops of the main agent; a line that cannot be read is passed over."""
    return steps_of(_records(lines))


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    reader = TranscriptReader(_NO_FILE, {}, needs_meta=False)
    for number, raw in enumerate(lines, start=1):
        line = object_in(raw)
        if line is not None:
            yield from reader.records(number, line)
        elif raw.strip():
            yield SkippedLine(number)


def settled(command: HookCommand, transcript_tail: bytes) -> HookCommand:
    """
    Return the command with the statuses that the log tells; see `hosts.host.Host.settled`.

    A call of a batch whose result is an error never ran, as failed calls have had a hook of their own; one
    that opens with an exit code ran all the same.
    """
    if not isinstance(command.step, ReturnCalls):
        return command
    flags = error_flags(transcript_tail, {call.call_id for call in command.step.calls})
    calls = tuple(_settled_call(call, flags.get(call.call_id)) for call in command.step.calls)
    if calls == command.step.calls:
        return command
    return replace(command, step=replace(command.step, calls=calls))


def _settled_call(call: Call, is_error: bool | None) -> Call:  # noqa: FBT001 - what the log says, if it does
    if is_error is None:
        return call
    if not is_error:
        exit_code = 0 if call.command else None
        if call.status is CallStatus.OK and call.exit_code == exit_code:
            return call
        return replace(call, status=CallStatus.OK, exit_code=exit_code)
    return (
        call
        if call.status is CallStatus.FAILED
        else replace(call, status=CallStatus.NEVER_RAN, exit_code=None)
    )


def calls_of_turn(transcript_tail: bytes, prompt_id: str) -> tuple[Call, ...]:
    """Return the calls with results that follow one prompt; see `hosts.host.Host.calls_of_turn`."""
    # The first line that names the prompt is its own; nothing before it need be decoded.
    lines = from_the_line_that_names(transcript_tail, prompt_id).split(b"\n")
    return calls_after_prompt(read(lines), prompt_id)


def error_flags(transcript_tail: bytes, call_ids: set[str]) -> dict[str, bool]:
    """Return, for the calls whose results are in the tail, whether the log marks them as errors."""
    flags: dict[str, bool] = {}
    for raw in lines_from_the_end(transcript_tail):
        if len(flags) == len(call_ids):
            break
        # Searching the bytes first keeps lines that do not matter from being decoded.
        if b'"tool_result"' not in raw or not any(call_id.encode() in raw for call_id in call_ids):
            continue
        for block in objects(mapping(object_in(raw) or {}, "message"), "content"):
            call_id = text(block, "tool_use_id")
            if text(block, "type") == "tool_result" and call_id in call_ids:
                flags.setdefault(call_id, block.get("is_error") is True)
    return flags
