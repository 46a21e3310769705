"""Calls and their results, paired into steps: what the guard judges, live and from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import Call, CallStatus
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStep,
    LoggedStop,
    SkippedLine,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.hosts.records import Record, ReplayRecord

OPEN_CALLS_MAX = 1_000
"""Calls without a result that are remembered, as some come late; more are of a log that has lost results."""


def steps_of(records: Iterable[Record], agent_id: str = "") -> Iterator[ReplayRecord]:
    """Yield the prompts, steps and stops of one agent of a session; its calls as whole steps."""
    steps = Steps()
    for record in records:
        if isinstance(record, LoggedSession | SkippedLine) or getattr(record, "agent_id", "") == agent_id:
            yield from steps.take(record)
    yield from steps.flush()


class Steps:
    """
    The calls of one agent: those of one model reply form a step, which whatever follows it closes.

    A call without a result never came back and is in no step; a result that comes after its step is one of
    its own.
    """

    def __init__(self) -> None:
        self._step = ""
        self._asked: dict[str, LoggedCall] = {}
        self._back: dict[str, LoggedResult] = {}

    @property
    def has_open_calls(self) -> bool:
        """Whether calls were taken that are in no step yet."""
        return bool(self._asked)

    def take(self, record: Record) -> Iterator[ReplayRecord]:
        """Yield what a record completes, and the record itself when a replay needs it."""
        match record:
            case LoggedCall():
                if not record.step or record.step != self._step:
                    yield from self.flush()
                self._step = record.step
                self._ask(record)
            case LoggedResult():
                if record.call_id in self._asked:
                    self._back[record.call_id] = record
            case LoggedPrompt() | LoggedStop():
                yield from self.flush()
                yield record
            case LoggedSession():
                yield from self.flush()
            case SkippedLine():
                yield record
            case _:
                return

    def _ask(self, call: LoggedCall) -> None:
        self._asked.setdefault(call.call_id, call)
        if len(self._asked) > OPEN_CALLS_MAX:
            del self._asked[next(iter(self._asked))]

    def flush(self) -> Iterator[LoggedStep]:
        """Yield the step of the calls that are back, if there is one."""
        back = [(self._asked.pop(call_id), result) for call_id, result in self._back.items()]
        self._back = {}
        if back:
            last = back[-1][1]
            back.sort(key=lambda pair: pair[0].line)
            yield LoggedStep(
                calls=tuple(call_of(asked, result) for asked, result in back),
                lines=tuple(asked.line for asked, _ in back),
                last_line=last.line,
                at=last.at,
                agent_id=last.agent_id,
            )


def call_of(asked: LoggedCall, result: LoggedResult) -> Call:
    """Return the call as hooks report it."""
    exit_code = result.exit_code if result.status is not CallStatus.NEVER_RAN else None
    return Call(
        call_id=asked.call_id,
        tool=asked.tool,
        kind=asked.kind,
        server=asked.server,
        arguments=asked.arguments,
        command=asked.command,
        target=asked.target,
        edited=asked.edited,
        output=result.text,
        status=result.status,
        exit_code=exit_code,
        interrupted=result.interrupted,
        background=asked.background or result.goes_on,
        duration_ms=result.duration_ms,
    )


def calls_after_prompt(records: Iterable[ReplayRecord], prompt_id: str) -> tuple[Call, ...]:
    """Return the calls with results that follow one prompt, as far as the next one."""
    calls: list[Call] = []
    is_in_turn = False
    for record in records:
        if isinstance(record, LoggedPrompt):
            is_in_turn = record.prompt_id == prompt_id
        elif isinstance(record, LoggedStep) and is_in_turn:
            calls += record.calls
    return tuple(calls)
