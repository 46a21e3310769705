"""The judge beside the hooks: asked through the gate alone, within its limits, never in the way (S4.5)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from canaries import CANARY, FAKE_SECRETS, Canaries, failing_steps, quiet_payloads
from scripted_side_calls import Scripted
from sessions import shell
from workbench import rows_of, topics_in

from tokeneconomizer.domain.commands import EndTurn, PromptKind, ReturnCalls, SessionKey, SubmitPrompt
from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.domain.guard.judge import CALLS_TOLD, digest_of
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.domain.setup import Setup
from tokeneconomizer.scheduler.judging import Judging

if TYPE_CHECKING:
    from pathlib import Path

    from workbench import Workbench

    from tokeneconomizer.domain.settings import Value
    from tokeneconomizer.scheduler.application import Answer as HookAnswer

ON: dict[str, Value] = {"judge": "auto", "guard.gate_calls": 9}
SESSION = SessionKey("claude_code", "session-1")
STUCK = '{"verdict": "stuck", "confidence": 0.9}'


class Judged:
    """A workbench with a judge."""

    def __init__(self, bench: Workbench, side_calls: Scripted, settings: dict[str, Value]) -> None:
        self.bench = bench
        self.calls = 0
        bench.settings = Configuration(settings)
        self.judging = Judging(
            bench.application, lambda: bench.settings, side_calls, bench.log, lambda: bench.at, lambda: None
        )

    def turn(self, key: SessionKey = SESSION) -> None:
        """A turn that passes the gate; then the judge is asked, if it is."""
        self.bench.do(SubmitPrompt(f"prompt-{self.calls}", "go", PromptKind.HUMAN), key=key)
        for _ in range(10):
            self.step(key)

        async def ask() -> None:
            self.judging.start_if_due()
            if self.judging.running is not None:
                await self.judging.running

        asyncio.run(ask())

    def step(self, key: SessionKey = SESSION) -> HookAnswer:
        self.calls += 1
        call = shell(f"test -f file{'x' * self.calls}", call_id=f"call-{self.calls}")
        return self.bench.do(ReturnCalls((call,), whole_step=True), key=key)

    def stored(self, kind: str) -> int:
        return topics_in(self.bench.home.events).count(kind.removeprefix("session."))


def test_a_turn_that_passed_the_gate_is_asked_about_and_hears_the_verdict(bench: Workbench) -> None:
    side_calls = Scripted(STUCK)
    judged = Judged(bench, side_calls, ON)
    judged.turn()

    assert len(side_calls.asked) == 1
    assert [judged.stored(f"session.{kind}") for kind in ("gate_fired", "judge_asked", "verdict_given")] == [
        1
    ] * 3
    assert judged.stored("setup.side_call_made") == 1
    assert judged.step().decision.context
    assert judged.judging.problem == ""


@pytest.mark.parametrize("settings", [{**ON, "judge": "off"}, {"guard.gate_calls": 9}])
def test_without_the_setting_nobody_is_asked_and_the_gate_is_stored_all_the_same(
    bench: Workbench, settings: dict[str, Value]
) -> None:
    side_calls = Scripted(STUCK)
    judged = Judged(bench, side_calls, settings)
    judged.turn()

    assert side_calls.asked == []
    assert (judged.stored("session.gate_fired"), judged.stored("session.judge_asked")) == (1, 0)


def test_it_is_asked_at_most_so_often_in_a_session(bench: Workbench) -> None:
    judged = Judged(bench, Scripted(STUCK), {**ON, "guard.judge_calls_per_session": 2})
    for _ in range(4):
        judged.turn()

    assert (judged.stored("session.gate_fired"), judged.stored("session.judge_asked")) == (4, 2)


def test_it_is_asked_at_most_so_often_on_a_day_and_again_on_the_next(bench: Workbench) -> None:
    judged = Judged(bench, Scripted(STUCK), {**ON, "guard.judge_calls_per_day": 2})
    for number in range(4):
        judged.turn(SessionKey("claude_code", f"session-{number}"))
    assert judged.stored("session.judge_asked") == 2

    bench.at += timedelta(days=1)
    judged.turn(SessionKey("claude_code", "session-5"))
    assert judged.stored("session.judge_asked") == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SideCallFailed("it did not answer within 60 s"), "did not answer"),
        (RuntimeError("boom"), "RuntimeError"),
        ("I think it is stuck.", "no verdict"),
        ("", "no verdict"),
    ],
)
def test_a_judge_that_fails_changes_nothing_and_is_told(
    bench: Workbench, answer: str | Exception, words: str
) -> None:
    judged = Judged(bench, Scripted(STUCK, script=[answer]), ON)
    judged.turn()

    assert words in judged.judging.problem
    assert "judge not heard" in bench.warnings()
    assert (judged.stored("session.verdict_given"), judged.stored("setup.side_call_made")) == (0, 1)
    assert not judged.step().decision.says_something

    judged.turn()
    assert judged.judging.problem == ""


def test_an_agent_that_cannot_be_asked_costs_nothing(bench: Workbench) -> None:
    judged = Judged(bench, Scripted(STUCK, refused="`claude` is not in the PATH"), ON)
    judged.turn()

    assert "not in the PATH" in judged.judging.problem
    assert (judged.stored("session.judge_asked"), judged.stored("setup.side_call_made")) == (0, 0)


def test_hook_calls_are_answered_while_the_judge_thinks(bench: Workbench) -> None:
    side_calls = Scripted(STUCK)
    judged = Judged(bench, side_calls, ON)
    answers: list[HookAnswer] = []
    side_calls.meanwhile = lambda: answers.append(judged.step())
    judged.turn()

    assert [answer.decision.says_something for answer in answers] == [False]
    assert judged.step().decision.context


def test_a_turn_that_ended_before_its_question_is_asked_about_no_more(bench: Workbench) -> None:
    side_calls = Scripted(STUCK)
    judged = Judged(bench, side_calls, {**ON, "judge": "off"})
    bench.do(SubmitPrompt("prompt-1", "go", PromptKind.HUMAN))
    for _ in range(10):
        judged.step()
    bench.do(EndTurn("stop"))
    bench.settings = Configuration(ON)
    asyncio.run(_asked(judged))

    assert side_calls.asked == []


async def _asked(judged: Judged) -> None:
    judged.judging.start_if_due()
    assert judged.judging.running is not None
    await judged.judging.running


def test_closing_ends_the_question_and_keeps_what_it_cost(bench: Workbench) -> None:
    judged = Judged(bench, Scripted(STUCK), ON)
    bench.do(SubmitPrompt("prompt-1", "go", PromptKind.HUMAN))
    for _ in range(10):
        judged.step()

    async def start_and_close() -> None:
        judged.judging.start_if_due()
        await asyncio.sleep(0)
        await judged.judging.close()

    asyncio.run(start_and_close())
    assert judged.stored("session.judge_asked") == judged.stored("setup.side_call_made") == 1
    assert judged.stored("session.verdict_given") == 0


def test_the_days_side_calls_are_counted_by_purpose(bench: Workbench) -> None:
    setup = Setup.open("claude_code", bench.at)
    for purpose in ("judge", "judge", "other"):
        setup.trigger_event(
            Setup.SideCallMade,
            timestamp=bench.at,
            side_call_id="1",
            purpose=purpose,
            model="",
            sent_characters=1,
            cost_usd=None,
        )

    assert [setup.side_calls_on(bench.at, purpose) for purpose in ("judge", "other", "none")] == [2, 1, 0]
    assert setup.side_calls_on(bench.at + timedelta(days=1), "judge") == 0


def test_no_canary_is_told_to_the_judge(bench: Workbench, tmp_path: Path) -> None:
    canary = Canaries()
    opening = islice(quiet_payloads(canary, tmp_path / "absent.jsonl"), 2)
    for payload in [*opening, *failing_steps(canary, steps=60)]:
        bench.call(payload)
    (stream_id,) = rows_of(bench.home.events, "SELECT originator_id FROM stored_events LIMIT 1")[0]
    session = bench.store.repository.get(UUID(str(stream_id)))
    assert isinstance(session, Session)
    digest = digest_of(session.turn, session.limits)

    assert len(digest.splitlines()) == 1 + CALLS_TOLD
    assert [needle for needle in [CANARY, *FAKE_SECRETS.values()] if needle.lower() in digest.lower()] == []
