"""The gate: far outside what green turns take, and nothing moves (S4.3, S4.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Telling, edit, look, shell

from tokeneconomizer.domain.digests import CallKind
from tokeneconomizer.domain.guard.envelope import GREEN_TURNS_MIN, Envelope, with_envelope
from tokeneconomizer.domain.guard.gate import CALLS_NEEDED
from tokeneconomizer.domain.guard.limits import Limits
from tokeneconomizer.domain.handle import Rules

if TYPE_CHECKING:
    from tokeneconomizer.domain.digests import Call

FEW = Limits(gate_calls=10, gate_failures=10, gate_edits=10, gate_minutes=10)
TELLS_NOTHING = shell("test -f a", "")


def telling(limits: Limits = FEW) -> Telling:
    return Telling(rules=Rules(limits=limits))


def different(number: int, output: str = "") -> Call:
    return shell(f"test -f file{'x' * number}", output)


def failing(output: str) -> Call:
    return shell("make", output, failed=True)


def words(number: int) -> str:
    return f"found {'x' * number}"


def measures(told: Telling) -> list[tuple[str, float, float]]:
    return [(event.measure, event.value, event.limit) for event in told.of("gate_fired")]


@pytest.mark.parametrize("calls", [FEW.gate_calls, FEW.gate_calls + 1, 40])
def test_it_fires_once_a_turn_above_the_limit_and_says_nothing(calls: int) -> None:
    told = telling()
    answers = [told.step(different(number)).decision for number in range(calls)]

    assert measures(told) == ([] if calls == FEW.gate_calls else [("calls", 11, 10)])
    assert not any(answer.says_something for answer in answers)


def test_a_new_turn_has_a_gate_of_its_own() -> None:
    told = telling()
    for _ in range(2):
        told.prompt()
        for number in range(12):
            told.step(different(number))

    assert [event.turn for event in told.of("gate_fired")] == [1, 2]


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("each result is new", [different(n, words(n)) for n in range(40)]),
        ("each edit is another one", [edit("a.py", words(n)) for n in range(40)]),
        ("each failure is another one", [failing(f"KeyError: {words(n)}") for n in range(40)]),
        ("tests pass", [*[TELLS_NOTHING] * 9, shell("pytest", "3 passed in 1s"), *[TELLS_NOTHING] * 3]),
        ("it waits", [look("BashOutput", {"id": "1"}, "running", CallKind.WAIT)] * 30),
    ],
)  # fmt: skip
def test_it_stays_shut_while_the_turn_moves(name: str, calls: list[Call]) -> None:
    told = telling(replace(FEW, rules_off="same_call same_failure cycle"))
    for call in calls:
        told.step(call)

    assert measures(told) == [], name


def test_too_few_calls_are_no_halt_however_long_they_take() -> None:
    told = telling()
    for _ in range(CALLS_NEEDED - 1):
        told.step(TELLS_NOTHING, after_s=3600)
    assert measures(told) == []

    told.step(TELLS_NOTHING)
    assert [measure for measure, _, _ in measures(told)] == ["minutes"]


@pytest.mark.parametrize(
    ("measure", "call"),
    [
        ("failures", failing("KeyError: x")),
        ("edits", edit("a.py", "the same")),
    ],
)
def test_each_measure_opens_it(measure: str, call: Call) -> None:
    told = telling(replace(FEW, gate_calls=100, **{f"gate_{measure}": 9}))
    for _ in range(11):
        told.step(call)

    assert measures(told) == [(measure, 10, 9)]


def test_it_is_stored_also_where_the_hook_client_answered_and_not_where_the_guard_is_off() -> None:
    spooled, off = telling(), Telling(rules=Rules(guard_is_on=False, limits=FEW))
    for number in range(12):
        spooled.step(different(number), answered=True)
        off.step(different(number))

    assert (len(measures(spooled)), len(measures(off))) == (1, 0)


USUAL = Envelope(GREEN_TURNS_MIN, calls=40, failures=0, edits=9, minutes=3)


def test_known_green_turns_replace_the_settings_and_tiny_ones_leave_half_of_them() -> None:
    found = with_envelope(Limits(gate_calls=30, gate_failures=6, gate_edits=15, gate_minutes=30), USUAL)

    assert (found.gate_calls, found.gate_failures, found.gate_edits, found.gate_minutes) == (80, 3, 18, 15)
    assert found.green_turns == GREEN_TURNS_MIN


@pytest.mark.parametrize("envelope", [None, replace(USUAL, green_turns=GREEN_TURNS_MIN - 1)])
def test_until_enough_green_turns_are_known_the_settings_hold(envelope: Envelope | None) -> None:
    assert with_envelope(FEW, envelope) == FEW


@given(st.builds(Envelope, *[st.integers(0, 10_000)] * 5), st.integers(1, 200))
@settings(deadline=None)
def test_an_envelope_never_makes_a_limit_smaller_than_half_the_setting(
    envelope: Envelope, calls: int
) -> None:
    found = with_envelope(Limits(gate_calls=calls), envelope)

    assert found.gate_calls >= calls // 2
    assert Limits.from_json(found.to_json()) == found


def test_limits_of_older_events_are_read_with_the_gates_own_defaults() -> None:
    assert Limits.from_json('{"failed_repeats":5}') == Limits(failed_repeats=5)
