"""Random sessions: the guard keeps its promises, and a replay says what was said live (S4.6 to S4.8)."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sessions import Telling, edit, look, shell

from tokeneconomizer.domain.commands import EndTurn, PromptKind, ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.guard.limits import CALLS_BEFORE_HINT, CALLS_BETWEEN_REDIRECTS, REDIRECTS_PER_TURN
from tokeneconomizer.domain.guard.turn import TURN_BYTES_MAX, WINDOW_CALLS
from tokeneconomizer.domain.session_events import DeliveryFailed
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop
from tokeneconomizer.scheduler.replay import replay

if TYPE_CHECKING:
    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import ReplayRecord

SNAPSHOT_BYTES_MAX = 64 * 1024
"""What a session keeps between two turns: ids of calls and deliveries, and few words more."""

CALLS = st.sampled_from(
    [
        shell("make", "ValueError: boom", failed=True),
        shell("make all", "ValueError: boom", failed=True),
        shell("make", "KeyError: x", failed=True),
        shell("pytest", "1 failed in 1s", failed=True),
        shell("pytest", "2 passed in 1s"),
        shell("git status", "clean"),
        shell("git diff", ""),
        shell("sleep 9", "", failed=True),
        look("Read", {"file_path": "a.py"}, "x = 1"),
        edit("a.py", "one"),
        edit("a.py", "two"),
        edit("a.py", "three", error="String to replace not found in file."),
    ]
)


class GuardedSession(RuleBasedStateMachine):
    """One session, told live; its log is replayed at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.telling = Telling()
        self.log: list[ReplayRecord] = []
        self.calls_told = 0
        self.nothing_was_lost = True

    @rule()
    def prompt(self) -> None:
        line = len(self.log) + 1
        self.telling.tell(SubmitPrompt(f"prompt-{line}", "go on", PromptKind.HUMAN))
        self.log.append(LoggedPrompt(line, self.telling.at, f"prompt-{line}", "go on", PromptKind.HUMAN))

    @rule()
    def stop(self) -> None:
        self.telling.tell(EndTurn("stop"))
        self.log.append(LoggedStop(len(self.log) + 1, self.telling.at, "stop"))

    @rule(call=CALLS, times=st.integers(1, 6))
    def the_same_again(self, call: Call, times: int) -> None:
        for _ in range(times):
            self._step(call)

    @rule(calls=st.lists(CALLS, min_size=1, max_size=4), times=st.integers(1, 4))
    def a_round(self, calls: list[Call], times: int) -> None:
        for call in calls * times:
            self._step(call)

    @rule(calls=st.lists(CALLS, min_size=2, max_size=4))
    def side_by_side(self, calls: list[Call]) -> None:
        self._step(*calls)

    @rule()
    def the_newest_words_are_lost(self) -> None:
        session, said = self.telling.session, [e for e in self.telling.events if e.TOPIC in SAID]
        if session is None or not said or not session.counts_as_said(said[-1].originator_version):
            return
        self.nothing_was_lost = False
        session.trigger_event(
            DeliveryFailed,
            timestamp=self.telling.at,
            delivery_id="",
            failed_topic=said[-1].TOPIC,
            failed_version=said[-1].originator_version,
            reason="killed",
        )
        self.telling.events += session.collect_events()  # type: ignore[arg-type]

    def _step(self, *calls: Call) -> None:
        named = []
        for call in calls:
            self.calls_told += 1
            named.append(replace(call, call_id=f"call-{self.calls_told}"))
        outcome = self.telling.tell(ReturnCalls(tuple(named), whole_step=True))
        line = len(self.log) + 1
        self.log.append(LoggedStep(tuple(named), tuple(line for _ in named), line, self.telling.at))
        # S4.8: an answer can say something, and nothing else.
        assert set(outcome.decision.__slots__) == {"context", "hint", "echo_hint", "quiet_steps"}

    @invariant()
    def every_call_is_stored_and_no_turn_is_ended_by_the_guard(self) -> None:
        assert len(self.telling.of("tool_returned")) == self.calls_told
        asked = sum(isinstance(record, LoggedStop | LoggedPrompt) for record in self.log)
        assert len(self.telling.of("turn_ended")) <= asked

    @invariant()
    def redirects_are_few_apart_and_each_for_other_evidence(self) -> None:
        for redirects in self._by_turn("redirected"):
            assert len(redirects) <= REDIRECTS_PER_TURN
            assert len({event.evidence_hash for event in redirects}) == len(redirects)
            for first, second in pairwise(redirects):
                assert second.call_number - first.call_number >= CALLS_BETWEEN_REDIRECTS

    @invariant()
    def a_hint_is_given_once_and_exactly_when_the_evidence_holds_again(self) -> None:
        if not self.nothing_was_lost:
            return
        due: dict[int, int] = {}
        redirects: dict[int, list[tuple[int, str]]] = {}
        numbers: dict[int, int] = {}
        arguments: dict[str, str] = {}
        for event in self.telling.events:
            match event.TOPIC:
                case "session.tool_called":
                    arguments[event.call_id] = event.arguments_hash
                case "session.tool_returned":
                    number = numbers[event.turn] = numbers.get(event.turn, 0) + 1
                    evidence = event.signature_hash or f"{arguments[event.call_id]}{event.result_hash}"
                    for at, of in redirects.get(event.turn, []):
                        if of == evidence and number - at >= CALLS_BEFORE_HINT:
                            due.setdefault(event.turn, number)
                case "session.redirected":
                    redirects.setdefault(event.turn, []).append((event.call_number, event.evidence_hash))
        hints = {event.turn: event.call_number for event in self.telling.of("stop_hinted")}
        assert len(hints) == len(self.telling.of("stop_hinted"))
        assert hints.keys() == due.keys()
        assert all(hints[turn] >= due[turn] for turn in due)

    @invariant()
    def the_memory_of_a_turn_is_bounded(self) -> None:
        if self.telling.session is not None:
            assert len(self.telling.session.turn.window) <= WINDOW_CALLS

    def teardown(self) -> None:
        if not self.nothing_was_lost:
            return
        turns = replay(self.log, "claude_code", self.telling.rules)
        assert [
            (turn.turn, said.call, said.rule, said.text) for turn in turns for said in turn.redirects
        ] == [(e.turn, e.call_number, e.rule, e.text) for e in self.telling.of("redirected")]
        assert [turn.turn for turn in turns if turn.gated] == [e.turn for e in self.telling.of("gate_fired")]
        assert [(turn.turn, turn.stop_hint.call) for turn in turns if turn.stop_hint] == [
            (e.turn, e.call_number) for e in self.telling.of("stop_hinted")
        ]

    def _by_turn(self, topic: str) -> list[list[DeliveryFailed]]:
        lost = {e.failed_version for e in self.telling.of("delivery_failed")}
        turns: dict[int, list[DeliveryFailed]] = {}
        for event in self.telling.of(topic):
            if event.originator_version not in lost:
                turns.setdefault(event.turn, []).append(event)
        return list(turns.values())


SAID = {"session.redirected", "session.stop_hinted"}

TestGuardedSession = GuardedSession.TestCase
TestGuardedSession.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)


@pytest.mark.parametrize("calls", [WINDOW_CALLS, 12 * WINDOW_CALLS])
def test_a_turn_takes_no_more_memory_however_long_it_is(calls: int) -> None:
    telling = Telling()
    for number in range(calls):
        long = f"echo {'長' * 150} && run {number} " + f"--option-{number} value " * 40
        telling.step(
            replace(shell(long, f"KeyError: {number}", failed=True), call_id=f"{number}" + "x" * 200)
        )
    session = telling.session
    assert session is not None

    assert len(pickle.dumps(session.turn)) <= TURN_BYTES_MAX
    telling.stop()
    assert len(json.dumps(session.state()).encode()) <= SNAPSHOT_BYTES_MAX
