"""Redirects and stop hints, told as sessions (S4.2, S4.3, S4.6 to S4.8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sessions import Telling, edit, redirects_after, shell

from tokeneconomizer.domain.guard.limits import (
    FAILED_REPEATS,
    FAILED_REPEATS_WITH_EDITS,
    SAME_RESULT_REPEATS,
    SIGNATURE_REPEATS_IN_A_ROW,
    Limits,
)
from tokeneconomizer.domain.handle import Rules

if TYPE_CHECKING:
    from tokeneconomizer.domain.digests import Call

FAILURE = "Exit code 1\nTraceback (most recent call last):\nValueError: total is 12.30, not 12.31"


def failing(command: str = "python -m unittest") -> Call:
    return shell(command, FAILURE, failed=True)


@pytest.mark.parametrize("repeats", [FAILED_REPEATS - 1, FAILED_REPEATS])
def test_the_same_failing_call_is_redirected_at_its_limit_and_not_before(repeats: int) -> None:
    steps = [[failing()]] * repeats

    assert redirects_after(Telling(), *steps) == ([FAILED_REPEATS] if repeats == FAILED_REPEATS else [])


def test_a_new_remark_does_not_make_the_same_command_another_call() -> None:
    told_anew = [
        replace(failing(), arguments={"command": "python -m unittest", "description": f"Attempt {n}"})
        for n in range(FAILED_REPEATS)
    ]

    assert redirects_after(Telling(), *[[call] for call in told_anew]) == [FAILED_REPEATS]


def test_with_edits_between_one_more_failure_is_allowed() -> None:
    steps = [step for n in range(6) for step in ([failing()], [edit("a.py", f"x = {n}")])]

    first = redirects_after(Telling(), *steps)[0]
    assert first == 2 * FAILED_REPEATS_WITH_EDITS - 1


def test_numbers_and_times_in_a_result_do_not_make_it_new() -> None:
    steps = [
        [shell("make test", f"FAILED in 0.{n}s at 09:1{n}:00\nValueError: {n}", failed=True)]
        for n in range(3)
    ]

    assert redirects_after(Telling(), *steps) == [3]


def test_the_same_successful_call_is_redirected_only_while_nothing_was_edited() -> None:
    same = [shell("cat notes.txt", "the same text")]
    checked = [step for n in range(9) for step in (same, [edit("a.py", f"x = {n}")])]

    assert redirects_after(Telling(), *[same] * SAME_RESULT_REPEATS) == [SAME_RESULT_REPEATS]
    assert redirects_after(Telling(), *checked) == []


def test_differing_commands_that_fail_in_the_same_way_are_redirected() -> None:
    steps = [[failing(f"python -m unittest tests.test_{n}")] for n in range(SIGNATURE_REPEATS_IN_A_ROW)]

    assert redirects_after(Telling(), *steps) == [SIGNATURE_REPEATS_IN_A_ROW]


def test_an_edit_that_does_not_match_its_file_again_and_again_is_redirected() -> None:
    error = "<tool_use_error>String to replace not found in file.</tool_use_error>"
    steps = [[edit("src/a.py", f"version {n}", error=error)] for n in range(3)]

    assert redirects_after(Telling(), *steps) == [3]


def test_calls_side_by_side_are_one_attempt() -> None:
    error = "<tool_use_error>File has not been read yet.</tool_use_error>"
    siblings = [edit(f"src/{n}.py", "x", error=error) for n in range(8)]

    assert redirects_after(Telling(), siblings, [failing()] * 6) == []


def test_progress_between_the_failures_is_no_circle() -> None:
    command = "python -m unittest"
    steps = [
        [failing(command)],
        [failing(command + " -v")],
        [shell(command, "OK")],
        [failing(command + " -f")],
        [failing(command + " -b")],
    ]

    assert redirects_after(Telling(), *steps) == []


def test_a_new_turn_starts_counting_anew() -> None:
    telling = Telling()
    redirects_after(telling, [failing()], [failing()])
    telling.prompt()

    assert redirects_after(telling, [failing()], [failing()]) == []


def test_at_most_two_redirects_a_turn_the_second_for_other_evidence() -> None:
    telling = Telling()
    first = [[failing("one")]] * 3
    others = [[shell(name, f"KeyError: {name}", failed=True)] for name in ("two", "three") for _ in range(3)]

    assert redirects_after(telling, *first, *others) == [3, 6]  # S4.6
    assert [event.number for event in telling.of("redirected")] == [1, 2]
    assert len({event.evidence_hash for event in telling.of("redirected")}) == 2


def test_a_second_redirect_waits_for_three_calls_after_the_first() -> None:
    telling = Telling(rules=Rules(limits=Limits(failed_repeats=2)))
    steps = [[failing("one")], [failing("one"), shell("two", "KeyError", failed=True)]]
    steps += [[shell("two", "KeyError", failed=True)]] * 3

    numbers = [event.call_number for event in telling.of("redirected")]
    assert redirects_after(telling, *steps) == [2, 5]
    numbers = [event.call_number for event in telling.of("redirected")]
    assert numbers[1] - numbers[0] >= 3


def test_the_same_evidence_at_the_third_call_after_a_redirect_gives_one_hint() -> None:
    telling = Telling()
    answers = [telling.step(failing()).decision for _ in range(9)]

    assert [bool(answer.context) for answer in answers] == [False, False, True] + [False] * 6
    assert [bool(answer.hint) for answer in answers] == [False] * 5 + [True] + [False] * 3  # S4.7
    assert telling.of("stop_hinted")[0].evidence_hash == telling.of("redirected")[0].evidence_hash


def test_a_hint_is_given_in_the_language_of_the_user_and_echoed_when_the_agent_hides_it() -> None:
    telling = Telling(rules=Rules(language="zh", echo_hint=True))
    hint = next(answer for _ in range(9) if (answer := telling.step(failing()).decision).hint)

    assert "原地打转" in hint.hint
    assert hint.hint in hint.context
    assert telling.of("stop_hinted")[0].echo is True


def test_a_redirect_names_the_command_the_failure_and_how_often() -> None:
    telling = Telling()
    text = [telling.step(failing()).decision.context for _ in range(3)][-1]

    assert "`python -m unittest` has failed 3 times" in text
    assert "ValueError" in text or "valueerror" in text.lower()
    assert "\n" not in text
    assert "12.31" not in text


def test_nothing_is_said_when_the_guard_is_off_or_the_answer_is_given_already() -> None:
    off = Telling(rules=Rules(guard_is_on=False))
    cold = Telling()

    assert redirects_after(off, *[[failing()]] * 8) == []
    assert not any(cold.step(failing(), answered=True).decision.says_something for _ in range(8))
    assert cold.of("redirected") == []


def test_a_redirect_that_never_arrived_does_not_count_and_rides_on_the_next_result() -> None:
    telling = Telling()
    for _ in range(3):
        telling.step(failing())
    session = telling.session
    assert session is not None
    lost = telling.of("redirected")[0]
    session.trigger_event(
        session.DeliveryFailed,
        timestamp=telling.at,
        delivery_id="",
        failed_topic=lost.TOPIC,
        failed_version=lost.originator_version,
        reason="killed",
    )
    session.collect_events()
    assert session.turn.redirects == []

    again = telling.step(shell("ls"))
    assert again.decision.context == lost.text  # S2.12
    assert telling.of("redirected")[1].number == 1


def test_a_hint_that_never_arrived_is_given_again() -> None:
    telling = Telling()
    for _ in range(6):
        telling.step(failing())
    session, lost = telling.session, telling.of("stop_hinted")[0]
    assert session is not None
    session.trigger_event(
        session.DeliveryFailed,
        timestamp=telling.at,
        delivery_id="",
        failed_topic=lost.TOPIC,
        failed_version=lost.originator_version,
        reason="killed",
    )

    assert telling.step(failing()).decision.hint
