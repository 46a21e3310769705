"""`te audit verify`: whether the log is whole and unchanged, from its first event to its newest."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.domain.errors import StoreDamaged, TokeneconomizerError
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.store_guard import how_to_move_aside, trouble_with

if TYPE_CHECKING:
    from tokeneconomizer.scheduler.verifying import Verification


@click.command(name="verify")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def command(*, as_json: bool) -> None:
    """Prove that the stored events are whole, in order and unchanged."""
    # It brings the event library with it, which the other commands of `te audit` do without.
    from tokeneconomizer.scheduler.verifying import verify_events  # noqa: PLC0415

    home = Home.from_environment()
    trouble = trouble_with(home)
    if not home.events.exists() and not trouble:
        output.say("no event is stored yet")
        return
    key = home.root / "key"
    if not key.exists():
        message = f"the secret {key} is missing, without which no event can be verified: put back a backup"
        raise TokeneconomizerError(message)
    started = time.perf_counter()
    with EventLog(home.events) as log:
        with output.positions_shown("verifying events", 0, log.last_given()) as tell:
            found = verify_events(log, key.read_bytes(), tell)
        seconds = time.perf_counter() - started
        file_faults = _file_faults(log)
    result = {
        "is_whole": not (found.faults or file_faults or trouble),
        **asdict(found),
        "file_faults": file_faults,
        "seconds": round(seconds, 3),
        "events_per_s": round(found.events / seconds),
    }
    if as_json:
        output.print_json(result)
    else:
        output.print_data(*_tables(found, file_faults, result))
    if not result["is_whole"]:
        raise TokeneconomizerError(trouble or _advice(home, found, file_faults))


def _file_faults(log: EventLog) -> list[str]:
    try:
        return log.faults_of_file()
    except StoreDamaged as error:
        return [str(error.__cause__ or error)]


def _tables(found: Verification, file_faults: list[str], result: dict[str, object]) -> list[output.Table]:
    summary: list[list[output.Cell | str]] = [
        ["events verified", f"{found.events:,}"],
        ["events/s", f"{result['events_per_s']:,}"],
        ["newest event", str(found.last)],
        [
            "faults",
            output.Cell(f"{found.faults_found + len(file_faults):,}", "" if result["is_whole"] else "bad"),
        ],
    ]
    tables = [output.Table("", (), summary)]
    if found.faults:
        rows = [[str(fault.position), fault.words] for fault in found.faults]
        tables.append(output.Table("", ("event", "what is wrong"), rows))
    if file_faults:
        tables.append(output.Table("What SQLite finds", (), [[words] for words in file_faults]))
    return tables


def _advice(home: Home, found: Verification, file_faults: list[str]) -> str:
    if found.is_other_key:
        return (
            f"no event fits the secret {home.root / 'key'}: it is another one than the events were stored "
            "with; put it back from a backup"
        )
    where = f"from event {found.faults[0].position} on" if found.faults else "in its pages"
    if file_faults or found.broken_links < found.faults_found:
        return (
            f"the event store is damaged {where}: keep `te audit export` of what can be read, then put a "
            f"backup in its place, or move it aside: {how_to_move_aside(home)}"
        )
    return (
        f"the event store was changed {where} by something other than this program: compare it with a "
        "backup; the program goes on working with it"
    )
