"""Folding in the daemon: what fails is told once, and a damage is handed on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from sessions import shell
from workbench import SESSION

from tokeneconomizer.domain.commands import EndTurn, PromptKind, ReturnCalls, SubmitPrompt
from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.domain.guard.envelope import GREEN_TURNS_MIN, TIMES_USUAL
from tokeneconomizer.domain.guard.limits import GATE_CALLS, Limits
from tokeneconomizer.domain.session import Session
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import folding as folding_module
from tokeneconomizer.scheduler.envelopes import Envelopes
from tokeneconomizer.scheduler.folding import Folding

if TYPE_CHECKING:
    from workbench import Workbench

GREEN_CALLS = 20
"""More than half of the setting is once doubled."""


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding_module, "PAUSE_S", 0)


async def fold(folding: Folding, times: int = 1) -> None:
    """Let it fold so often."""
    for _ in range(times):
        folding.soon()
        folding.soon()
        while folding._due is not None:  # noqa: ASYNC110, SLF001 - it tells nobody when it has folded
            await asyncio.sleep(0)


def folded(bench: Workbench, times: int = 1) -> list[Exception]:
    """Fold what the bench stored; return the damages that were handed on."""
    damages: list[Exception] = []

    async def run() -> None:
        folding = Folding(bench.home, bench.log, damages.append, bench.envelopes)
        try:
            await fold(folding, times)
        finally:
            folding.close()

    asyncio.run(run())
    return damages


def test_what_was_stored_is_folded_in_small_batches(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding_module, "BATCH_EVENTS", 3)
    for number in range(5):
        bench.call(hooks.prompt("go on", prompt_id=f"prompt-{number}"))
    assert folded(bench) == []
    for projection in PROJECTIONS:
        with open_view(bench.home.views, projection) as view:
            assert view.position() == len(bench.topics())


def test_a_view_that_cannot_be_used_is_told_once_and_keeps_no_other(
    bench: Workbench,
) -> None:
    bench.call(hooks.prompt("go on"))
    with open_view(bench.home.views, counters) as view:
        path = view.path
    path.write_bytes(b"no database" * 1000)
    assert folded(bench, times=3) == []
    assert bench.warnings() == ["view not folded"]
    for other in PROJECTIONS:
        if other is not counters:
            with open_view(bench.home.views, other) as view:
                assert view.position() == len(bench.topics())


def green_turn(bench: Workbench, number: int) -> None:
    bench.do(SubmitPrompt(f"prompt-{number}", "go on", PromptKind.HUMAN))
    for step in range(GREEN_CALLS):
        call = shell("pytest", "1 passed in 1s", call_id=f"call-{number}-{step}")
        bench.do(ReturnCalls((call,), whole_step=True))
    bench.do(EndTurn("stop"))


def limits_of_newest_prompt(bench: Workbench) -> Limits:
    session = bench.store.repository.get(Session.stream_id(SESSION))
    assert isinstance(session, Session)
    return session.limits


def test_the_limits_stored_with_a_prompt_are_those_that_green_turns_taught(bench: Workbench) -> None:
    for number in range(GREEN_TURNS_MIN - 1):
        green_turn(bench, number)
    assert folded(bench, times=20) == []
    green_turn(bench, GREEN_TURNS_MIN)
    before = limits_of_newest_prompt(bench)
    assert folded(bench, times=20) == []
    green_turn(bench, GREEN_TURNS_MIN + 1)
    after = limits_of_newest_prompt(bench)

    assert (before.green_turns, before.gate_calls) == (0, GATE_CALLS)
    assert (after.green_turns, after.gate_calls) == (GREEN_TURNS_MIN, TIMES_USUAL * GREEN_CALLS)


def test_a_daemon_knows_at_its_start_what_was_folded_before(bench: Workbench) -> None:
    green_turn(bench, 1)
    folded(bench)
    bench.envelopes = Envelopes()
    folded(bench)

    assert bench.envelopes.of("example.org/team/project", "claude_code") is not None
    assert bench.envelopes.of("example.org/team/project", "codex") is None


def test_a_damaged_store_is_handed_on(bench: Workbench) -> None:
    bench.call(hooks.prompt("go on"))
    bench.store.close()
    bench.home.events.write_bytes(b"no database" * 1000)
    (damage,) = folded(bench)
    assert isinstance(damage, StoreDamaged)
    assert bench.warnings() == []
