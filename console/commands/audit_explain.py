"""`te audit explain`: why something was decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.projections.explaining import explain
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.store_guard import trouble_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.projections.explaining import Explanation

ARRIVED = {True: "yes", False: "no, so that it does not count", None: ""}


@click.command(name="explain")
@click.argument("position", type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def command(position: int, *, as_json: bool) -> None:
    """Explain the decision at POSITION: its rule, the limits in force, the events that it rests on."""
    home = Home.from_environment()
    with EventLog(home.events) as log:
        event = log.event(position)
        explained = explain(log, event) if isinstance(event, EventRow) else None
    if event is None:
        message = trouble_with(home) or f"there is no event {position}: `te audit list` shows the newest ones"
        raise TokeneconomizerError(message)
    if explained is None:
        message = f"event {position} cannot be read any more: `te audit verify` tells what is damaged"
        raise TokeneconomizerError(message)
    if as_json:
        values = asdict(explained)
        output.print_json({**values, "rests_on": [basis._asdict() for basis in explained.rests_on]})
        return
    output.print_data(_head(explained))
    if explained.rests_on:
        rows = [
            [str(basis.position), output.local_time(basis.at), basis.kind, basis.why, basis.summary]
            for basis in explained.rests_on
        ]
        output.print_data(output.Table("Rests on", ("event", "time", "kind", "as", "what happened"), rows))


def _head(explained: Explanation) -> output.Table:
    rows = [
        ("what happened", explained.summary),
        ("decided", "yes" if explained.is_decision else "no, the agent did it"),
        ("rule", explained.rule),
        ("limits in force", _pairs(explained.limits)),
        ("measured", _pairs(explained.measured)),
        ("reached the agent", ARRIVED[explained.delivered]),
    ]
    return output.Table("", (), [row for row in rows if row[1]])


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items() if value not in ("", None))


def _shown(value: object) -> str:
    return f"({_pairs(value)})" if isinstance(value, dict) else str(value)
