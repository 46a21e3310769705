"""How many further steps need no answer (S2.6), and which calls none at all: told ahead, and never wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import MAIN, Telling, edit, look, redirects_after, shell

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    StartCall,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.decisions import NOTHING
from tokeneconomizer.domain.foresight import may_speak
from tokeneconomizer.domain.guard.limits import Limits
from tokeneconomizer.domain.guard.quiet import quiet_steps
from tokeneconomizer.domain.handle import Rules

if TYPE_CHECKING:
    from tokeneconomizer.domain.commands import Step
    from tokeneconomizer.domain.digests import Call

FAILURES = ("ValueError: boom", "KeyError: gone", "AssertionError")
REFUSED = "<tool_use_error>String to replace not found in file.</tool_use_error>"


def fails(command: str, output: str = FAILURES[0]) -> Call:
    return replace(shell(command, output, failed=True), exit_code=1)


def read(path: str, text: str) -> Call:
    return look("Read", {"file_path": path}, text)


def quiet_after(*calls: Call, limits: Limits | None = None) -> int:
    telling = Telling(rules=Rules(limits=limits or Limits()))
    telling.prompt()
    redirects_after(telling, *[[call] for call in calls])
    assert telling.session is not None
    return quiet_steps(telling.session.turn, telling.session.limits)


@pytest.mark.parametrize(
    ("calls", "quiet"),
    [
        ([], 2),
        ([read("a", "1")], 1),
        ([read("a", "1"), read("b", "2"), shell("ls", "c"), edit("a", "x")], 1),
        ([read("a", "1"), read("a", "1")], 0),
        ([fails("make"), fails("make test")], 0),
        ([fails("make"), fails("make test", FAILURES[1])], 1),
        ([edit("a", "x"), edit("a", "y")], 1),
        ([edit("a", "x"), edit("a", "y"), edit("a", "x")], 0),
        ([fails("make", failure) for failure in FAILURES], 0),
        ([fails("make")] * 3, 0),
        ([fails("make"), fails("make"), shell("make", "done")], 1),
        ([fails("make"), fails("make test"), shell("make", "done")], 1),
    ],
    ids=[
        "nothing yet", "one call", "differing calls", "one reading twice", "two failures alike",
        "two failures", "two contents", "a content that came back", "a call that fails otherwise each time",
        "redirected", "a failure that was cured", "one of two that failed alike was cured",
    ],
)  # fmt: skip
def test_as_many_steps_are_quiet_as_every_rule_still_lacks(calls: list[Call], quiet: int) -> None:
    assert quiet_after(*calls) == quiet


def test_what_lies_out_of_every_rules_reach_counts_no_more() -> None:
    limits = Limits(span_calls=3)
    pair = [read("a", "1"), read("a", "1")]
    others = [read(name, name) for name in "bcde"]
    assert quiet_after(*pair, limits=limits) == 0
    assert quiet_after(*pair, *others, limits=limits) == 1


kinds_of_calls = (
    st.builds(read, st.sampled_from("ab"), st.sampled_from("12")),
    st.builds(shell, st.sampled_from(["make", "ls"]), st.sampled_from(["x", "2 passed in 1s"])),
    st.builds(fails, st.sampled_from(["make", "pytest -q"]), st.sampled_from(FAILURES)),
    st.builds(edit, st.sampled_from("ab"), st.sampled_from("xy")),
    st.builds(edit, st.sampled_from("ab"), st.sampled_from("xy"), error=st.just(REFUSED)),
)
# Of few kinds, so that much repeats.
turns = st.lists(st.sampled_from(kinds_of_calls), min_size=1, max_size=3).flatmap(
    lambda kinds: st.lists(st.lists(st.one_of(kinds), min_size=1, max_size=2), min_size=1, max_size=14)
)
limits_of_users = st.builds(
    Limits,
    failed_repeats=st.integers(2, 4),
    same_result_repeats=st.integers(2, 5),
    signature_repeats_in_a_row=st.integers(2, 4),
    refused_edits=st.integers(2, 4),
    cycle_rounds=st.integers(2, 4),
    returns=st.integers(1, 3),
    span_calls=st.integers(2, 8),
)


@given(turns, st.just(Limits()) | limits_of_users)
def test_nothing_is_ever_said_to_a_step_that_was_called_quiet(
    steps: list[list[Call]], limits: Limits
) -> None:
    telling = Telling(rules=Rules(limits=limits))
    telling.prompt()
    quiet_until = 0
    for number, step in enumerate(steps, start=1):
        redirected = redirects_after(telling, step)
        assert number > quiet_until or not redirected
        assert telling.session is not None
        quiet = quiet_steps(telling.session.turn, telling.session.limits)
        quiet_until = max(quiet_until, number + quiet)


A_STEP = ReturnCalls((read("a", "1"),), whole_step=True)
WITH_MISSED = (read("b", "2"),)


@pytest.mark.parametrize(
    ("step", "unheard", "quiet", "speaks"),
    [
        (StartSession("resume"), (), 9, True),
        (SubmitPrompt("p", "go on", PromptKind.HUMAN), (), 0, False),
        (SubmitPrompt("p", "go on", PromptKind.HUMAN), WITH_MISSED, 0, False),
        (EndTurn("stop"), WITH_MISSED, 0, False),
        (EndSession("other"), (), 0, False),
        (Compact("auto", None), (), 0, False),
        (StartCall("call-1"), (), 0, False),
        (StartCall("call-1"), WITH_MISSED, 0, True),
        (StartCall("call-1"), WITH_MISSED, 1, False),
        (replace(A_STEP, whole_step=False), WITH_MISSED, 0, False),
        (A_STEP, (), 0, True),
        (A_STEP, (), 1, False),
        (A_STEP, WITH_MISSED, 1, True),
        (A_STEP, WITH_MISSED, 2, False),
        (None, (), 0, False),
    ],
)
def test_which_calls_may_be_answered_by_something(
    step: Step | None, unheard: tuple[Call, ...], quiet: int, *, speaks: bool
) -> None:
    assert may_speak(HookCommand(MAIN, "", "/home/dev/project", "", step, unheard), quiet) is speaks


def test_who_asks_how_long_it_stays_quiet_is_always_told() -> None:
    prompt = SubmitPrompt("p", "go on", PromptKind.HUMAN)
    assert may_speak(HookCommand(MAIN, "", "/home/dev/project", "", prompt, looks_ahead=True), 9)


@pytest.mark.parametrize(("gate_calls", "quiet"), [(99, 1), (10, 0)])
def test_past_the_gate_nobody_is_told_ahead_for_a_verdict_may_come_in_between(
    gate_calls: int, quiet: int
) -> None:
    telling = Telling(rules=Rules(limits=Limits(gate_calls=gate_calls)))
    telling.prompt()
    telling.looks_ahead = True
    told = [telling.step(read(f"file {number}", "nothing new")).decision for number in range(20)]
    assert told[0].quiet_steps == 1
    assert told[-1].quiet_steps == quiet


@given(turns, st.lists(st.booleans(), min_size=14, max_size=14), st.just(Limits()) | limits_of_users)
def test_nothing_is_ever_said_to_a_call_that_may_not_be_spoken_to(
    steps: list[list[Call]], some_missed: list[bool], limits: Limits
) -> None:
    telling = Telling(rules=Rules(limits=limits))
    telling.prompt()
    for calls, is_missed in zip(steps, some_missed, strict=False):
        # One of two calls is told by no hook, but found in the agent's log.
        named = telling.named(*calls)
        unheard = named[:1] if is_missed and len(named) > 1 else ()
        step = ReturnCalls(named[len(unheard) :], whole_step=True)
        assert telling.session is not None
        quiet = quiet_steps(telling.session.turn, telling.session.limits)
        speaks = may_speak(HookCommand(MAIN, "", "/home/dev/project", "", step, unheard), quiet)
        decision = telling.tell(step, unheard=unheard).decision
        assert speaks or decision == NOTHING
