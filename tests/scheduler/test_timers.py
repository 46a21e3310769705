from __future__ import annotations

import asyncio
import threading

from tokeneconomizer.scheduler.timers import start_timer


def test_it_comes_again_and_again_in_the_loop_that_started_it() -> None:
    ticks: list[tuple[int, asyncio.AbstractEventLoop]] = []

    async def two_ticks() -> asyncio.AbstractEventLoop:
        come = asyncio.Event()

        def tick() -> None:
            ticks.append((threading.get_ident(), asyncio.get_running_loop()))
            if len(ticks) > 1:
                come.set()

        timers = start_timer(0.01, tick, first_s=0.0)
        await come.wait()
        timers.shutdown(wait=False)
        return asyncio.get_running_loop()

    loop = asyncio.run(two_ticks())
    assert ticks[:2] == [(threading.get_ident(), loop)] * 2
