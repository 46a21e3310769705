"""`te ledger`: the tokens that the agents' own logs report. Needs neither daemon nor store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.ledger_tables import GROUPS, table_of
from tokeneconomizer.console.log_places import agents_home_option, homes_of, host_option
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.usage_ledger import ledger

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.usage_report import Report


@click.group(name="ledger")
def command() -> None:
    """Show tokens by session, day, repository and model."""


@command.command()
@agents_home_option
@host_option
@click.option(
    "--by",
    "group",
    type=click.Choice(GROUPS),
    default="session",
    show_default=True,
    help="Rows of the table.",
)
@click.option("--timezone", metavar="TZ", help="Whose days count, as Europe/Berlin; else the system's.")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as one JSON value.")
def scan(
    *, agents_home: Path | None, host: str | None, group: str, timezone: str | None, as_json: bool
) -> None:
    """Read the agents' logs now.

    Costs are unknown as long as no price table is there; so is each figure that a log does not tell.
    """
    files = find(homes_of(agents_home), [host] if host else LOGS)
    with output.progress("Reading the agents' logs", len(files)) as advance:
        found = ledger(files, timezone, Home.from_environment().cache, advance)
    for path, reason in found.unreadable:
        output.say(f"{path} was not read: {reason}")
    if as_json:
        click.echo(found.text)
        return
    report: Report = json.loads(found.text)
    output.print_data(table_of(report, group))
    if report["skipped_lines"]:
        output.say(f"{report['skipped_lines']} damaged lines; what was whole in them is counted")
