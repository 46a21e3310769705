"""`te doctor`: walks the registered checks, and says what is blind or broken and how to mend it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.agent_checks import AGENT_CHECKS
from tokeneconomizer.console.checks import Level, Patient, examine
from tokeneconomizer.console.fact_checks import FACT_CHECKS
from tokeneconomizer.console.hearing_checks import HEARING_CHECKS
from tokeneconomizer.console.home_checks import HOME_CHECKS
from tokeneconomizer.console.log_checks import LOG_CHECKS
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from tokeneconomizer.console.checks import Result

CHECKS = (*HOME_CHECKS, *AGENT_CHECKS, *HEARING_CHECKS, *LOG_CHECKS, *FACT_CHECKS)

MEANINGS = {Level.OK: "good", Level.WARNING: "doubtful", Level.PROBLEM: "bad"}


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Find what is blind or broken, and say how to mend it."""
    patient = Patient(Home.from_environment(), Path.home(), os.environ, datetime.now(UTC))
    results = list(examine(patient, CHECKS))
    if as_json:
        output.print_json([result.to_json() for result in results])
    else:
        headings = ("check", "", "what is the case", "what to do")
        output.print_data(output.Table("", headings, [_row(result) for result in results]))
    if any(result.finding.level is Level.PROBLEM for result in results):
        context.exit(1)


def _row(result: Result) -> list[output.Cell | str]:
    finding = result.finding
    level = output.Cell(finding.level.value, MEANINGS[finding.level])
    return [result.check, level, finding.words, finding.advice]
