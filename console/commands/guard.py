"""`te guard replay`: recorded sessions through the same guard as live."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.state import configuration_in_force
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.hosts.claude_code.payload import NAME as CLAUDE_CODE
from tokeneconomizer.hosts.records import SkippedLine
from tokeneconomizer.scheduler.replay import replay
from tokeneconomizer.scheduler.replay_sources import SOURCES, records_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.hosts.records import ReplayRecord
    from tokeneconomizer.scheduler.replay import ReplayedTurn


@click.group(name="guard")
def command() -> None:
    """Look at what the loop guard does."""


@command.command(name="replay")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--host",
    type=click.Choice(SOURCES),
    default=CLAUDE_CODE,
    show_default=True,
    help="Whose log it is.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON Lines, one per turn.")
def replay_command(files: tuple[Path, ...], host: str, *, as_json: bool) -> None:
    """Replay recorded sessions through the same guard as live."""
    rules = Rules(limits=configuration_in_force().limits(host=host))
    skipped = 0
    for file in files:
        turns, unreadable = _replay_file(file, host, rules)
        skipped += unreadable
        if as_json:
            for turn in turns:
                output.print_json({"file": str(file), **asdict(turn)})
        else:
            output.print_data(_table(file, turns))
    if skipped:
        output.say(f"{skipped} lines could not be read and were passed over")


def _replay_file(file: Path, host: str, rules: Rules) -> tuple[list[ReplayedTurn], int]:
    skipped = 0

    def readable(records: Iterator[ReplayRecord]) -> Iterator[ReplayRecord]:
        nonlocal skipped
        for record in records:
            skipped += isinstance(record, SkippedLine)
            yield record

    return replay(readable(records_of(file, host)), host, rules), skipped


def _table(file: Path, turns: list[ReplayedTurn]) -> output.Table:
    rows = [
        (
            str(turn.turn),
            f"{turn.first_line}-{turn.last_line}",
            str(turn.calls),
            turn.ended,
            "; ".join(f"call {r.call} ({r.rule}): {r.evidence}" for r in turn.redirects),
            f"call {turn.stop_hint.call}" if turn.stop_hint else "",
        )
        for turn in turns
    ]
    return output.Table(str(file), ("turn", "lines", "calls", "ended", "redirects", "hint"), rows)
