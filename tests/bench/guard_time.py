"""
What the guard costs a call: decoding and digesting its payload, and the verdict, apart.

`python tests/bench/guard_time.py`. The turn never ends, so that each verdict looks at a full window: once of
mixed work, once of a turn that goes in circles and finds most.
"""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent_work import AgentWork

from tokeneconomizer.domain.call_ruling import rule_on
from tokeneconomizer.domain.commands import Delivery, HookCommand, Place, ReturnCalls, SessionKey
from tokeneconomizer.domain.digests import Hasher, digest_call
from tokeneconomizer.domain.guard.rules import find
from tokeneconomizer.domain.guard.turn import WINDOW_CALLS
from tokeneconomizer.domain.handle import Rules, handle
from tokeneconomizer.hosts.claude_code.payload import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.session import Session

CALLS = 2_000
# A circle of so many different commands never leaves the window.
CIRCLE = 5
PERCENTILES = {"p50": 0.5, "p99": 0.99}
US_PER_S = 1_000_000


def mixed(seed: int) -> Iterator[bytes]:
    """Yield payloads of steps as an agent's work has them."""
    chance = random.Random(seed)  # noqa: S311 - work drawn by chance, no secret
    work = AgentWork(chance, "guard-mixed", Path("no-log.jsonl"))
    for moment in work.turns():
        if moment.event == "PostToolBatch":
            yield moment.payload


def circling(seed: int) -> Iterator[bytes]:
    """Yield payloads of steps that fail in the same few ways for ever."""
    number = seed
    while True:
        number += 1
        call = {
            "tool_name": "Bash",
            "tool_input": {"command": f"make part-{number % CIRCLE}"},
            "tool_response": "Exit code 2\nmake: *** No rule to make it.  Stop.",
            "tool_use_id": f"toolu_{number}",
        }
        fields = {"session_id": "guard-circling", "hook_event_name": "PostToolBatch", "tool_calls": [call]}
        yield json.dumps(fields).encode()


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Return the named percentiles in microseconds."""
    ordered = sorted(seconds)
    return {
        name: round(ordered[int(share * (len(ordered) - 1))] * US_PER_S, 1)
        for name, share in PERCENTILES.items()
    }


class Clock:
    """Feeds a session call by call and takes the times of each part."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {"decode": [], "digest": [], "verdict": []}
        self._session: Session | None = None
        self._hasher = Hasher(b"bench")
        self._rules = Rules()
        self._deliveries = 0

    def feed(self, payload: bytes, at: datetime) -> None:
        """Take one payload as the daemon does, and time its parts when the window is full."""
        begin = time.perf_counter()
        command = decode(json.loads(payload), "PostToolBatch")
        decoded = time.perf_counter()
        assert isinstance(command.step, ReturnCalls)
        for call in command.step.calls:
            digest_call(call, self._hasher, "/home/dev")
            rule_on(call)
        digested = time.perf_counter()
        self._keep(command, at)
        assert self._session is not None
        turn = self._session.turn
        if turn.calls < WINDOW_CALLS:
            return
        before = time.perf_counter()
        # `decide` asks the rules no more once both redirects are given: what they cost is asked here.
        find(turn.window, self._rules.limits)
        after = time.perf_counter()
        for name, took in (
            ("decode", decoded - begin),
            ("digest", digested - decoded),
            ("verdict", after - before),
        ):
            self.times[name].append(took)

    def _keep(self, command: HookCommand, at: datetime) -> None:
        self._deliveries += 1
        outcome = handle(
            self._session,
            HookCommand(SessionKey("claude_code", "bench"), command.event, "", "", command.step),
            Delivery(f"{self._deliveries:032x}", at),
            lambda: Place("bench", "bench"),
            self._rules,
            self._hasher,
        )
        self._session = outcome.session or self._session
        if self._session is not None:
            self._session.collect_events()


def measure(_root: Path | None = None, *, calls: int = CALLS) -> dict[str, object]:
    """Measure both kinds of work."""
    figures: dict[str, object] = {"calls": calls}
    for name, payloads in (("mixed", mixed(1)), ("circling", circling(1))):
        clock = Clock()
        for payload in islice(payloads, calls + WINDOW_CALLS):
            clock.feed(payload, datetime(2026, 1, 5, tzinfo=UTC))
        figures[name] = {part: percentiles(times) for part, times in clock.times.items()}
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))  # noqa: T201 - its output
