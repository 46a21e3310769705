"""
A recorded session through the same guard as live: the same commands, the same handling, nothing stored.

Where a log has no times, each record counts as one second later than the one before. A forked session's log
begins with a copy of its parent's turns: what was said there is told of the parent alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tokeneconomizer.domain import session_events as happened
from tokeneconomizer.domain.commands import (
    Delivery,
    EndTurn,
    HookCommand,
    Place,
    ReturnCalls,
    SessionKey,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.domain.handle import Rules, handle
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.domain.session import Session
    from tokeneconomizer.hosts.records import ReplayRecord

REPLAY_KEY = b"tokeneconomizer replay"
"""Hashes of a replay are compared within it alone, so they need no secret."""

FIRST_SECOND = datetime(2020, 1, 1, tzinfo=UTC)

OPEN = "open"


@dataclass(frozen=True, slots=True)
class ReplayedRedirect:
    """A redirect: at which call of the turn, in which line of the file."""

    call: int
    line: int
    rule: str
    evidence: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplayedHint:
    """A stop hint."""

    call: int
    line: int


@dataclass(slots=True)
class ReplayedTurn:
    """
    What the guard did in one turn; lines and calls count from 1.

    Attributes:
        call_lines: the line of each call.

    """

    turn: int
    first_line: int
    last_line: int
    calls: int = 0
    ended: str = OPEN
    gated: bool = False
    redirects: list[ReplayedRedirect] = field(default_factory=list)
    stop_hint: ReplayedHint | None = None
    call_lines: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return the turn as `te guard replay` prints it."""
        values = asdict(self)
        del values["call_lines"]
        return values


def replay(
    records: Iterable[ReplayRecord], host: str, rules: Rules, seen_calls: set[str] | None = None
) -> list[ReplayedTurn]:
    """
    Return the turns of a log, with what the guard would have said.

    Args:
        records: of the log.
        host: whose log it is.
        rules: what is in force.
        seen_calls: ids of the calls in logs that were replayed before; those of this log are added. What is
            said beside a call that was in another log is not told again.

    """
    replaying = _Replay(host, rules, seen_calls if seen_calls is not None else set())
    for record in records:
        replaying.take(record)
    return replaying.turns


class _Replay:
    def __init__(self, host: str, rules: Rules, seen_calls: set[str]) -> None:
        self._seen_calls = seen_calls
        self._is_copy = False
        self._key = SessionKey(host, "replay")
        self._rules = rules
        self._hasher = Hasher(REPLAY_KEY)
        self._session: Session | None = None
        self._at = FIRST_SECOND
        self._deliveries = 0
        self._lines: list[int] = []
        self.turns: list[ReplayedTurn] = []

    def take(self, record: ReplayRecord) -> None:
        match record:
            case LoggedPrompt(line, at, prompt_id, text, kind):
                # The number keeps prompts apart that a program sends twice: in a log each one happened.
                unique = f"{prompt_id}#{len(self.turns)}"
                self._handle(SubmitPrompt(unique, text, kind), at, [])
                self.turns.append(ReplayedTurn(len(self.turns) + 1, line, line))
            case LoggedStep(calls, lines, last_line, at):
                if not self.turns or self.turns[-1].ended != OPEN:
                    self.turns.append(ReplayedTurn(len(self.turns) + 1, lines[0], last_line))
                self.turns[-1].last_line = last_line
                self.turns[-1].calls += len(calls)
                self.turns[-1].call_lines += lines
                ids = {call.call_id for call in calls}
                self._is_copy = ids <= self._seen_calls
                self._seen_calls |= ids
                self._handle(ReturnCalls(calls, whole_step=True), at, list(lines))
            case LoggedStop(line, at, reason):
                if self.turns and self.turns[-1].ended == OPEN:
                    self.turns[-1].last_line = line
                self._handle(EndTurn(reason), at, [])

    def _handle(self, step: Step, at: datetime | None, lines: list[int]) -> None:
        self._at = at or self._at + timedelta(seconds=1)
        self._deliveries += 1
        self._lines = lines
        outcome = handle(
            self._session,
            HookCommand(self._key, "", "", "", step),
            Delivery(f"{self._deliveries:032x}", self._at),
            lambda: Place("replay", "replay"),
            self._rules,
            self._hasher,
        )
        self._session = outcome.session or self._session
        if outcome.session is not None:
            for event in outcome.session.collect_events():
                self._note(event)

    def _note(self, event: object) -> None:
        match event:
            case happened.Redirected() | happened.StopHinted() if self._is_copy:
                return
            case happened.Redirected():
                turn = self.turns[-1]
                turn.redirects.append(
                    ReplayedRedirect(
                        event.call_number, self._lines[-1], event.rule, event.evidence, event.text
                    )
                )
            case happened.StopHinted():
                self.turns[-1].stop_hint = ReplayedHint(event.call_number, self._lines[-1])
            case happened.GateFired():
                self.turns[-1].gated = True
            case happened.TurnEnded():
                # A prompt ends the turn before it, which is then the newest one in the list.
                self.turns[-1].ended = event.outcome
            case _:
                return
