"""
Claude Code's transcript, read as records (measured on logs of 2.0 to 2.1.332).

A prompt is a user line that a person or a program typed: no tool results, no meta lines, no summaries, no
output of local commands. The calls of one assistant message are one step. An assistant line whose message
ended its turn, an interruption, and the next prompt each end a turn.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.commands import PromptKind, ReturnCalls
from tokeneconomizer.domain.digests import CallStatus
from tokeneconomizer.hosts.claude_code.payload import (
    MACHINE_PROMPT_PREFIXES,
    call_from,
    never_ran,
    text_of_result,
)
from tokeneconomizer.hosts.fields import mapping, objects, text
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop, SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokeneconomizer.domain.commands import HookCommand
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import ReplayRecord

INTERRUPTED_PREFIX = "[Request interrupted by user"

USER_STOPPED_PREFIX = "The user doesn't want to "
"""The result of a call that the user refused, or cut off while it ran: the log does not tell which."""

NOT_A_PROMPT_PREFIXES = (
    "<command-name>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
)
"""Local commands and their output, which the agent logs as user lines."""

_ENDS_TURN = frozenset({"end_turn", "stop_sequence", "refusal", "max_tokens"})


def read(lines: Iterable[bytes]) -> Iterator[ReplayRecord]:
    """Yield the records of a transcript's lines."""
    steps = _Steps()
    for number, raw in enumerate(lines, start=1):
        line = _parse(raw)
        if line is None:
            if raw.strip():
                yield SkippedLine(number)
            continue
        if line.get("isSidechain") is True:
            continue
        kind, at = text(line, "type"), _time_of(line)
        if kind == "assistant":
            yield from steps.assistant(number, at, mapping(line, "message"))
        elif kind == "user":
            yield from _user(number, at, line, steps)
    yield from steps.flush()


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
    calls: list[Call] = []
    is_in_turn = False
    for record in read(transcript_tail.split(b"\n")):
        if isinstance(record, LoggedPrompt):
            is_in_turn = bool(prompt_id) and record.prompt_id == prompt_id
        elif isinstance(record, LoggedStep) and is_in_turn:
            calls += record.calls
    return tuple(calls)


def error_flags(transcript_tail: bytes, call_ids: set[str]) -> dict[str, bool]:
    """Return, for the calls whose results are in the tail, whether the log marks them as errors."""
    flags: dict[str, bool] = {}
    for raw in _lines_from_the_end(transcript_tail):
        if len(flags) == len(call_ids):
            break
        # Searching the bytes first keeps lines that do not matter from being decoded.
        if b'"tool_result"' not in raw or not any(call_id.encode() in raw for call_id in call_ids):
            continue
        for block in objects(mapping(_parse(raw) or {}, "message"), "content"):
            call_id = text(block, "tool_use_id")
            if text(block, "type") == "tool_result" and call_id in call_ids:
                flags.setdefault(call_id, block.get("is_error") is True)
    return flags


def _lines_from_the_end(data: bytes) -> Iterator[bytes]:
    """Yield lines one by one: a step's results are the last few of some hundred."""
    end = len(data)
    while end >= 0:
        start = data.rfind(b"\n", 0, end)
        yield data[start + 1 : end]
        end = start


class _Steps:
    """Pairs the calls of an assistant message with their results."""

    def __init__(self) -> None:
        self._message = ""
        self._asked: dict[str, tuple[int, Mapping[str, object]]] = {}
        self._back: dict[str, Call] = {}
        self._last_line = 0
        self._at: datetime | None = None

    def assistant(
        self, number: int, at: datetime | None, message: Mapping[str, object]
    ) -> Iterator[ReplayRecord]:
        if text(message, "id") != self._message:
            yield from self.flush()
            self._message = text(message, "id")
        for block in objects(message, "content"):
            if text(block, "type") == "tool_use" and text(block, "id") and text(block, "name"):
                self._asked.setdefault(text(block, "id"), (number, block))
        if text(message, "stop_reason") in _ENDS_TURN and not self._asked:
            yield LoggedStop(number, at, "stop")

    def result(self, number: int, at: datetime | None, block: Mapping[str, object]) -> None:
        asked = self._asked.get(text(block, "tool_use_id"))
        if asked is not None:
            self._back[text(block, "tool_use_id")] = _call(asked[1], block)
            self._last_line, self._at = number, at

    def flush(self) -> Iterator[ReplayRecord]:
        """
        Yield the step with the calls that are back; calls without a result never came back.

        Only what follows a message closes its step: results are logged between its own calls.
        """
        back = [(self._asked[call_id][0], call) for call_id, call in self._back.items()]
        if back:
            back.sort(key=lambda pair: pair[0])
            lines, calls = zip(*back, strict=True)
            yield LoggedStep(calls, lines, self._last_line, self._at)
        self._asked, self._back = {}, {}


def _user(
    number: int, at: datetime | None, line: Mapping[str, object], steps: _Steps
) -> Iterator[ReplayRecord]:
    message = mapping(line, "message")
    results = [block for block in objects(message, "content") if text(block, "type") == "tool_result"]
    if results:
        for block in results:
            steps.result(number, at, block)
        return
    prompt = text_of_result(message.get("content"))
    if prompt.startswith(INTERRUPTED_PREFIX):
        yield from steps.flush()
        yield LoggedStop(number, at, "no_stop")
        return
    is_hidden = line.get("isMeta") is True or line.get("isCompactSummary") is True
    if is_hidden or not prompt.strip() or prompt.startswith(NOT_A_PROMPT_PREFIXES):
        return
    yield from steps.flush()
    kind = PromptKind.MACHINE if prompt.startswith(MACHINE_PROMPT_PREFIXES) else PromptKind.HUMAN
    yield LoggedPrompt(number, at, text(line, "promptId"), prompt, kind)


def _call(asked: Mapping[str, object], result: Mapping[str, object]) -> Call:
    result_text = text_of_result(result.get("content"))
    status = CallStatus.OK
    if result.get("is_error") is True:
        status = CallStatus.NEVER_RAN if never_ran(result_text) else CallStatus.FAILED
    named = {
        "tool_name": asked["name"],
        "tool_input": asked.get("input"),
        "tool_use_id": asked["id"],
    }
    is_interrupted = result_text.startswith(USER_STOPPED_PREFIX)
    return call_from(named, result_text, status, interrupted=is_interrupted)


def _parse(raw: bytes) -> Mapping[str, object] | None:
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return line if isinstance(line, dict) else None


def _time_of(line: Mapping[str, object]) -> datetime | None:
    try:
        return datetime.fromisoformat(text(line, "timestamp"))
    except ValueError:
        return None
