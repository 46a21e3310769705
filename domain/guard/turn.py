"""The memory of one turn: counters, sums and a bounded window of calls, nothing that grows with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.call_record import CallRecord

from tokeneconomizer.domain.accounting.invocations import Invoked

WINDOW_CALLS = 64
"""Three times the widest span that a rule looks at, and more than the waits that are allowed in a row."""

TURN_BYTES_MAX = 128 * 1024
"""What a turn's memory takes at most, pickled: a full window of the longest texts that are kept of a call."""

FILES_REMEMBERED = 32
"""More files than a turn's summary can show; a turn that writes more is told by its count of edits."""

UNVERIFIED = "unverified"
"""A turn's outcome while no test run after the last edit says more."""

OUTCOMES = {"passed": "green", "failed": "red", "error": "red"}
"""Verdict of a test run -> outcome of a turn; other verdicts leave it as it was."""


@dataclass(frozen=True, slots=True)
class RedirectRecord:
    """A redirect given in this turn; `version` is its event's in the stream."""

    version: int
    call_number: int
    rule: str
    evidence: str
    evidence_hash: str
    occurrences: int


@dataclass(slots=True)
class TurnState:
    """
    What is known of the turn.

    Attributes:
        steps: number of the newest step.
        step_is_open: whether more calls of that step may come.
        undelivered: a redirect that never reached the agent and may ride on the next result.
        hint_version: version of the StopHinted event, or 0.
        outcome: what the last test run says of the turn, as in TurnEnded.
        written: base names of the files that were written, the latest last.
        is_whole: whether all that it invoked was seen and counted.
        invoked: what its calls put into the context.

    """

    number: int = 0
    is_open: bool = False
    prompt_id: str = ""
    started_at: float = 0.0
    steps: int = 0
    step_is_open: bool = False
    calls: int = 0
    failures: int = 0
    edits: int = 0
    window: list[CallRecord] = field(default_factory=list)
    redirects: list[RedirectRecord] = field(default_factory=list)
    undelivered: RedirectRecord | None = None
    hint_version: int = 0
    outcome: str = UNVERIFIED
    written: dict[str, None] = field(default_factory=dict)
    is_whole: bool = False
    invoked: Invoked = field(default_factory=Invoked)

    @property
    def step_of_next_call(self) -> int:
        """The number of the step to which a call that comes back now belongs."""
        return self.steps if self.step_is_open else self.steps + 1

    def judge(self, verdict: str | None, written: list[str]) -> None:
        """
        Take in what a call says of the tests, and what it wrote.

        What is written makes an earlier test run say nothing; one in the same call came after it.
        """
        for name in written:
            self.written.pop(name, None)
            self.written[name] = None
        while len(self.written) > FILES_REMEMBERED:
            del self.written[next(iter(self.written))]
        if written:
            self.outcome = UNVERIFIED
        self.outcome = OUTCOMES.get(verdict or "", self.outcome)

    def remember(self, call: CallRecord) -> None:
        """Take in a returned call; the oldest one is forgotten when the window is full."""
        self.calls += 1
        self.failures += call.status != "ok"
        self.edits += call.edits
        self.window.append(call)
        if len(self.window) > WINDOW_CALLS:
            del self.window[0]

    def forget_undelivered(self, version: int) -> None:
        """Take back what the event of that version counted, because it never reached the agent."""
        for redirect in self.redirects:
            if redirect.version == version:
                self.undelivered = replace(redirect)
                self.redirects.remove(redirect)
                return
        if self.hint_version == version:
            self.hint_version = 0
