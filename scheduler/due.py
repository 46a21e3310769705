"""What is due at a moment: pure functions of time readings, so that no clock step fools us."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

ELAPSED_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts on while the machine sleeps, where there is such a clock."""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

SILENCE_BEFORE_ARCHIVE = timedelta(hours=6)
"""A lunch and a meeting are no end of a session; a night is."""

IDLE_BEFORE_END_S = 3_600.0
"""A daemon that nobody called for an hour costs memory for nothing; the next hook starts it again."""


@dataclass(frozen=True, slots=True)
class Reading:
    """
    One look at the clocks.

    Attributes:
        wall: the wall clock, which people and network time may set.
        boot_id: names this boot of the machine; empty where the system does not tell.
        elapsed_s: seconds of a clock that nobody sets, comparable within one boot.

    """

    wall: datetime
    boot_id: str
    elapsed_s: float


def read_clocks() -> Reading:
    """Look at the clocks now."""
    return Reading(datetime.now(UTC), _boot_id(), time.clock_gettime(ELAPSED_CLOCK))


# No process outlives its boot, and the daemon looks at the clocks after each hook call.
@cache
def _boot_id() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def seconds_between(then: Reading, now: Reading) -> float:
    """
    Return how long ago `then` was, for certain.

    Within one boot it is the smaller of the two clocks' differences, so that a wall clock set forward makes
    nothing due; after a reboot only the wall clock is left. Below zero the wait starts anew.
    """
    by_wall_s = (now.wall - then.wall).total_seconds()
    if then.boot_id != now.boot_id or not now.boot_id:
        return max(0.0, by_wall_s)
    return max(0.0, min(by_wall_s, now.elapsed_s - then.elapsed_s))


def may_end(last_call: Reading, now: Reading, *, all_archived: bool) -> bool:
    """Return whether the daemon may end: nobody calls, and nothing is expected of any session."""
    return all_archived and seconds_between(last_call, now) >= IDLE_BEFORE_END_S


def silent_before(now: Reading) -> datetime:
    """Return the moment since which a session must have been silent to be archived."""
    return now.wall - SILENCE_BEFORE_ARCHIVE


@dataclass(frozen=True, slots=True)
class Idle:
    """
    Since when nothing happens.

    Attributes:
        activity: when something happened last, by the wall clock.
        base: the clocks from which the wait is counted.

    """

    activity: datetime
    base: Reading


def idle_since(before: Idle | None, activity: datetime, now: Reading) -> Idle:
    """
    Return from when on the wait is counted, after one more look at what happened last.

    The wall clock tells how long ago that was, the other clock since when we know of it: what is first heard
    of now is waited for from now on. After the wall clock was set back the wait starts anew.
    """
    if before is None or before.activity != activity:
        return Idle(activity, Reading(min(activity, now.wall), now.boot_id, now.elapsed_s))
    if now.wall < before.base.wall:
        return Idle(activity, now)
    return before
