"""The proposer in idle time: asked once about an archived session, within its limits (S3.1, S2.9)."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from canaries import FAKE_SECRETS
from scripted_side_calls import Scripted
from sessions import shell
from workbench import REPOSITORY, rows_of, topics_in

from tokeneconomizer.domain.commands import (
    EndSession,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.errors import SideCallFailed
from tokeneconomizer.domain.facts.block import HEADING
from tokeneconomizer.domain.facts.proposer import INSTRUCTIONS
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.hosts.side_call import Question
from tokeneconomizer.projections import microskills
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.scheduler.fact_blocks import FactBlocks
from tokeneconomizer.scheduler.fact_policy import FactPolicy
from tokeneconomizer.scheduler.proposing import Proposing

if TYPE_CHECKING:
    from workbench import Workbench

    from tokeneconomizer.domain.settings import Value

FULL: dict[str, Value] = {"microskills": "full"}
WORLD = '{"facts": [{"purpose": "build", "command": "./x world"}]}'
NOTHING = '{"facts": []}'


class Desk:
    """A workbench with the proposer, and with what renders blocks."""

    def __init__(
        self, bench: Workbench, side_calls: Scripted, settings: dict[str, Value], *, trusted: bool = True
    ) -> None:
        self.bench = bench
        bench.settings = Configuration(settings)
        policy = FactPolicy(lambda: bench.settings, lambda _host, _checkout: trusted)
        self.blocks = FactBlocks(bench.home, bench.application, policy)
        self.proposing = Proposing(
            bench.application, policy, side_calls, bench.log, lambda: bench.at, lambda: None
        )

    def work(self, number: int, *commands: str, host: str = "claude_code") -> None:
        """One session, from its start to its archive."""
        key = SessionKey(host, f"session-{number}")
        self.bench.do(StartSession("startup"), key=key)
        self.bench.do(SubmitPrompt(f"prompt-{number}", "go", PromptKind.HUMAN), key=key)
        for place, command in enumerate(commands):
            call = shell(command, call_id=f"{number}-{place}")
            self.bench.do(ReturnCalls((call,), whole_step=True), key=key)
        self.bench.do(EndSession("other"), key=key)

    def tick(self, *, closing: bool = False) -> None:
        """What the daemon's timer does."""

        async def ask() -> None:
            with (
                EventLog(self.bench.home.events) as log,
                open_view(self.bench.home.views, microskills) as view,
            ):
                view.catch_up(log)
                self.proposing.start_if_due(view.connection(), log)
                if self.proposing.running is not None and not closing:
                    await self.proposing.running
            await asyncio.sleep(0)
            await self.proposing.close()

        asyncio.run(ask())

    def block(self) -> str:
        with EventLog(self.bench.home.events) as log, open_view(self.bench.home.views, microskills) as view:
            view.catch_up(log)
            self.blocks.keep_up(view.connection(), self.bench.at)
            view.catch_up(log)
            rows = view.connection().execute(
                "SELECT text FROM repositories WHERE repository = ?", (REPOSITORY,)
            )
            return str(next(iter(rows))[0])

    def stored(self, topic: str) -> int:
        return topics_in(self.bench.home.events).count(topic)


def test_what_is_proposed_counts_from_its_second_session_on(bench: Workbench) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x world --release")
    desk.tick()
    assert [desk.stored(topic) for topic in ("setup.side_call_made", "microskills.fact_proposed")] == [1, 1]
    assert side_calls.asked == [Question(INSTRUCTIONS, "./x world --release -> worked")]
    assert desk.block() == ""
    desk.work(2, "./x world")
    assert desk.block() == f"{HEADING}\n- Build with `./x world`."
    assert desk.proposing.problem == ""


def test_a_session_is_asked_about_once(bench: Workbench) -> None:
    side_calls = Scripted(WORLD, script=[NOTHING])
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x world")
    for _ in range(3):
        desk.tick()
    desk.work(1, "./x world")
    desk.tick()
    assert len(side_calls.asked) == desk.stored("setup.side_call_made") == 1
    assert desk.stored("microskills.fact_proposed") == 0


def test_one_session_is_asked_about_at_a_time_the_first_one_first(bench: Workbench) -> None:
    side_calls = Scripted(WORLD, script=[NOTHING, NOTHING])
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x one")
    desk.work(2, "./x two")
    desk.tick()
    assert [question.text for question in side_calls.asked] == ["./x one -> worked"]
    desk.tick()
    assert [question.text for question in side_calls.asked][1:] == ["./x two -> worked"]


def test_what_is_known_is_not_proposed_again(bench: Workbench) -> None:
    desk = Desk(bench, Scripted(WORLD), FULL)
    for number in (1, 2):
        desk.work(number, "./x world")
        desk.tick()
    assert [desk.stored(topic) for topic in ("setup.side_call_made", "microskills.fact_proposed")] == [2, 1]


@pytest.mark.parametrize(
    ("settings", "trusted"),
    [({}, True), ({"microskills": "envfacts"}, True), ({"microskills": "off"}, True), (FULL, False)],
)
def test_nobody_is_asked_where_it_is_not_switched_on_and_trusted(
    bench: Workbench, settings: dict[str, Value], trusted: bool
) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, settings, trusted=trusted)
    desk.work(1, "./x world")
    desk.tick()
    assert side_calls.asked == []


def test_a_session_that_tells_nothing_new_costs_nothing(bench: Workbench) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "npm test", "git status")
    desk.tick()
    desk.tick()
    assert side_calls.asked == []
    desk.work(2, "./x world")
    desk.tick()
    assert len(side_calls.asked) == 1


def test_who_switches_it_on_is_not_asked_about_the_history(bench: Workbench) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x world")
    bench.at += timedelta(days=1, seconds=1)
    desk.tick()
    assert side_calls.asked == []


def test_it_is_asked_at_most_so_often_on_a_day_and_again_on_the_next(bench: Workbench) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, {**FULL, "facts.proposer_calls_per_day": 2})
    for number in range(4):
        desk.work(number, "./x world")
        desk.tick()
    assert len(side_calls.asked) == 2
    bench.at += timedelta(hours=13)
    desk.tick()
    assert len(side_calls.asked) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SideCallFailed("it did not answer within 60 s"), "did not answer"),
        (RuntimeError("boom"), "RuntimeError"),
        ("Run `./x world`.", "proposed nothing"),
        ("", "proposed nothing"),
    ],
)
def test_a_proposer_that_fails_changes_nothing_and_is_told(
    bench: Workbench, answer: str | Exception, words: str
) -> None:
    desk = Desk(bench, Scripted(WORLD, script=[answer]), FULL)
    desk.work(1, "./x world")
    desk.tick()
    assert words in desk.proposing.problem
    assert "proposer not heard" in bench.warnings()
    assert [desk.stored(topic) for topic in ("setup.side_call_made", "microskills.fact_proposed")] == [1, 0]
    desk.work(2, "./x world")
    desk.tick()
    assert desk.proposing.problem == ""


def test_an_agent_that_cannot_be_asked_costs_nothing_and_is_asked_later(bench: Workbench) -> None:
    side_calls = Scripted(WORLD, refused="`claude` is not in the PATH")
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x world")
    desk.tick()
    assert "not in the PATH" in desk.proposing.problem
    assert desk.stored("setup.side_call_made") == 0
    side_calls.refused = ""
    desk.tick()
    assert (desk.stored("microskills.fact_proposed"), desk.proposing.problem) == (1, "")


def test_a_proposal_that_the_session_does_not_bear_out_is_not_stored(bench: Workbench) -> None:
    desk = Desk(bench, Scripted(WORLD, script=[WORLD.replace("world", "moon")]), FULL)
    desk.work(1, "./x world")
    desk.tick()
    assert (desk.stored("microskills.fact_proposed"), desk.proposing.problem) == (0, "")


def test_hook_calls_are_answered_while_it_thinks(bench: Workbench) -> None:
    side_calls = Scripted(WORLD)
    desk = Desk(bench, side_calls, FULL)
    side_calls.meanwhile = lambda: desk.work(2, "./x world")
    desk.work(1, "./x world")
    desk.tick()
    assert desk.stored("archived") == 2


def test_closing_ends_the_question_and_keeps_what_it_cost(bench: Workbench) -> None:
    desk = Desk(bench, Scripted(WORLD), FULL)
    desk.work(1, "./x world")
    desk.tick(closing=True)
    assert [desk.stored(topic) for topic in ("setup.side_call_made", "microskills.fact_proposed")] == [1, 0]


def test_switched_off_again_the_next_block_is_without_what_was_proposed(bench: Workbench) -> None:
    desk = Desk(bench, Scripted(WORLD, script=[WORLD, NOTHING]), FULL)
    desk.work(1, "./x world", "npm test")
    desk.tick()
    desk.work(2, "./x world", "npm test")
    assert "./x world" in desk.block()
    bench.settings = Configuration({})
    desk.work(3, "./x world")
    assert desk.block() == f"{HEADING}\n- Run the tests with `npm test`."


def test_nothing_secret_leaves_the_machine(bench: Workbench) -> None:
    side_calls = Scripted(WORLD, script=[NOTHING])
    desk = Desk(bench, side_calls, FULL)
    desk.work(1, "./x world", *(f"./x login --token {secret}" for secret in FAKE_SECRETS.values()))
    desk.tick()
    (question,) = side_calls.asked
    assert not any(secret in question.text for secret in FAKE_SECRETS.values())


def test_the_event_holds_all_that_bears_the_proposal_out(bench: Workbench) -> None:
    desk = Desk(bench, Scripted(WORLD), FULL)
    desk.work(1, "./x world")
    desk.tick()
    query = "SELECT CAST(state AS TEXT) FROM stored_events WHERE topic = 'microskills.fact_proposed'"
    ((state,),) = rows_of(bench.home.events, query)
    stored = json.loads(str(state))
    assert (stored["text"], stored["purpose"], stored["command"]) == (
        "Build with `./x world`.",
        "build",
        "./x world",
    )
    (shown,) = json.loads(stored["shown"])
    assert (shown["outcome"], shown["text"]) == ("worked", "./x world")
