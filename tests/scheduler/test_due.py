"""What is due is told by time readings, not by waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.scheduler.due import (
    IDLE_BEFORE_END_S,
    SILENCE_BEFORE_ARCHIVE,
    Reading,
    may_end,
    read_clocks,
    seconds_between,
    silent_before,
)

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def reading(wall_s: float, elapsed_s: float, boot: str = "boot-1") -> Reading:
    return Reading(NOON + timedelta(seconds=wall_s), boot, elapsed_s)


@pytest.mark.parametrize(
    ("then", "now", "seconds"),
    [
        (reading(0, 100), reading(60, 160), 60),
        (reading(0, 100), reading(7_200, 160), 60),  # the wall clock was set forward
        (reading(0, 100), reading(-7_200, 160), 0),  # and back: the wait starts anew
        (reading(0, 100), reading(60, 5, "boot-2"), 60),  # after a reboot only the wall clock is left
        (reading(0, 100, ""), reading(60, 160, ""), 60),
    ],
)
def test_elapsed_time_is_what_no_clock_step_can_lengthen(then: Reading, now: Reading, seconds: float) -> None:
    assert seconds_between(then, now) == seconds


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_elapsed_time_within_a_boot_is_never_more_than_the_unset_clock_says(
    wall_s: float, by_s: float
) -> None:
    assert 0 <= seconds_between(reading(0, 0), reading(wall_s, by_s)) <= by_s


@pytest.mark.parametrize(
    ("idle_s", "all_archived", "ends"),
    [
        (IDLE_BEFORE_END_S, True, True),
        (IDLE_BEFORE_END_S - 1, True, False),
        (IDLE_BEFORE_END_S * 24, False, False),
    ],
)
def test_the_daemon_ends_when_nobody_calls_and_no_session_is_open(
    idle_s: float,
    all_archived: bool,
    ends: bool,
) -> None:
    assert may_end(reading(0, 0), reading(idle_s, idle_s), all_archived=all_archived) is ends


def test_a_session_is_silent_when_nothing_was_heard_for_the_named_time() -> None:
    assert silent_before(reading(0, 0)) == NOON - SILENCE_BEFORE_ARCHIVE


def test_the_clocks_of_this_machine_go_forward() -> None:
    first = read_clocks()
    second = read_clocks()

    assert seconds_between(first, second) >= 0
    assert first.boot_id == second.boot_id
