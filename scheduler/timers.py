"""The daemon's one timer, beside the hook calls in its event loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from apscheduler.schedulers.asyncio import AsyncIOScheduler

if TYPE_CHECKING:
    from collections.abc import Callable


def start_timer(seconds: float, part: Callable[[], None], *, first_s: float) -> AsyncIOScheduler:
    """
    Call a part again and again, never twice at once; a tick that was missed is made up for.

    Args:
        seconds: between two ticks.
        part: what is called.
        first_s: after how many seconds it is called for the first time.

    """

    # APScheduler 3.11 gives a plain function to a thread, where neither the loop nor the store can be used.
    async def in_the_loop() -> None:
        part()

    timers = AsyncIOScheduler(timezone=UTC)
    timers.add_job(
        in_the_loop,
        "interval",
        seconds=seconds,
        next_run_time=datetime.now(UTC) + timedelta(seconds=first_s),
        coalesce=True,
        max_instances=1,
        misfire_grace_time=None,
    )
    timers.start()
    return timers
