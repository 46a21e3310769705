"""Folding in the daemon: what fails is told once, and a damage is handed on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest

from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.switch import open_view
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler import folding as folding_module
from tokeneconomizer.scheduler.folding import Folding

if TYPE_CHECKING:
    from workbench import Workbench


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
        folding = Folding(bench.home, bench.log, damages.append)
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
    for other in [projection for projection in PROJECTIONS if projection is not counters]:
        with open_view(bench.home.views, other) as view:
            assert view.position() == len(bench.topics())


def test_a_damaged_store_is_handed_on(bench: Workbench) -> None:
    bench.call(hooks.prompt("go on"))
    bench.store.close()
    bench.home.events.write_bytes(b"no database" * 1000)
    (damage,) = folded(bench)
    assert isinstance(damage, StoreDamaged)
    assert bench.warnings() == []
