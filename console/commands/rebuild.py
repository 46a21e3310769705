"""`te rebuild`: makes views anew from the events, or proves that doing so would change no row."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.output import Cell, Table
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import fingerprint, open_view, rebuild, verify
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.projections.view import Projection

    Work = Callable[[EventLog, Home, Projection, Callable[[int], None]], dict[str, object]]

BY_NAME = {projection.NAME: projection for projection in PROJECTIONS}


@click.command(name="rebuild")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(list(BY_NAME)))
@click.option("--verify", "as_proof", is_flag=True, help="Only compare: change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def command(names: Sequence[str], *, as_proof: bool, as_json: bool) -> None:
    """Make the views anew from the events; all of them, or those named."""
    home = Home.from_environment()
    if not home.events.exists():
        message = f"no event is stored in {home.root} yet: there is nothing to rebuild"
        raise TokeneconomizerError(message)
    home.create()
    work = _verified if as_proof else _rebuilt
    chosen = [BY_NAME[name] for name in dict.fromkeys(names)] or list(PROJECTIONS)
    results = [_done(work, home, projection) for projection in chosen]
    if as_json:
        output.print_json(results)
    else:
        headings = ("view", "events", "events/s", "checksum", "")
        output.print_data(Table("", headings, [_row(result) for result in results]))
    differing = [str(result["view"]) for result in results if result.get("is_equal") is False]
    if differing:
        message = (
            f"a rebuild would change rows of {', '.join(differing)}: "
            f"run `te rebuild {' '.join(differing)}`, and please report that it was needed"
        )
        raise TokeneconomizerError(message)


def _done(work: Work, home: Home, projection: Projection) -> dict[str, object]:
    with EventLog(home.events) as log:
        last = log.last_position()
        with output.positions_shown(f"rebuilding {projection.NAME}", 0, last) as tell:
            return {"view": projection.NAME, **work(log, home, projection, tell)}


def _rate(events: int, started: float) -> dict[str, object]:
    seconds = time.perf_counter() - started
    return {"events": events, "seconds": round(seconds, 3), "events_per_s": round(events / seconds)}


def _rebuilt(
    log: EventLog, home: Home, projection: Projection, tell: Callable[[int], None]
) -> dict[str, object]:
    started = time.perf_counter()
    rebuild(log, home.views, projection, tell)
    with open_view(home.views, projection) as view:
        rate = _rate(view.position(), started)
        # Not timed: events that came meanwhile are folded by now, and the checksum is another pass.
        _, checksum = fingerprint(view)
        return {**rate, "checksum": checksum, "set_aside": len(view.set_aside())}


def _verified(
    log: EventLog, home: Home, projection: Projection, tell: Callable[[int], None]
) -> dict[str, object]:
    started = time.perf_counter()
    result = verify(log, home.views, projection, tell)
    return {
        **_rate(result.position, started),
        "checksum": result.checksum,
        "answering_checksum": result.answering_checksum,
        "is_equal": result.is_equal,
    }


def _row(result: dict[str, object]) -> list[Cell | str]:
    outcome = Cell("rebuilt", "good")
    if "is_equal" in result:
        outcome = Cell("equal", "good") if result["is_equal"] else Cell("different", "bad")
    elif result["set_aside"]:
        outcome = Cell(f"rebuilt; set aside: {result['set_aside']}, see `te doctor`", "doubtful")
    numbers = [f"{result[name]:,}" for name in ("events", "events_per_s")]
    return [str(result["view"]), *numbers, str(result["checksum"]), outcome]
