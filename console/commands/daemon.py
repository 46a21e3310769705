"""`te daemon`: run, start, stop and look at the background daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import daemon_process, output
from tokeneconomizer.console.words import Words
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from tokeneconomizer.console.daemon_process import DaemonState


@click.group(name="daemon")
def command() -> None:
    """Run, start or stop the background daemon."""


@command.command(name="run")
def run_command() -> None:
    """Run the daemon in this terminal until Ctrl-C."""
    from tokeneconomizer.scheduler.daemon import run  # noqa: PLC0415 - takes longer to load than all other commands

    home = Home.from_environment()
    output.say(f"the daemon runs until Ctrl-C; its log: {home.log}")
    run(home)


@command.command(name="start")
def start_command() -> None:
    """Start the daemon in the background."""
    home = Home.from_environment()
    if daemon_process.start(home):
        output.say(f"the daemon runs; its log: {home.log}")
    else:
        output.say("the daemon is already running")


@command.command(name="stop")
def stop_command() -> None:
    """Ask the daemon to stop, and wait until it has."""
    if daemon_process.stop(Home.from_environment()):
        output.say("the daemon has stopped")
    else:
        output.say("the daemon was not running")


@command.command(name="status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def status_command(*, as_json: bool) -> None:
    """Show whether the daemon runs, and how it is."""
    home = Home.from_environment()
    state = daemon_process.state_of(home)
    program = output.program_version()
    if as_json:
        output.print_json(
            {**state.to_json(), "program_version": program, "home": str(home.root), "log": str(home.log)}
        )
        return
    output.print_data(output.Table("", (), rows_of(state, program, Words.of_user(), home)))


def rows_of(state: DaemonState, program: str, words: Words, home: Home) -> list[list[output.Cell | str]]:
    """Return the daemon's state as labels and values."""
    label = words.label
    rows: list[list[output.Cell | str]] = [[label("daemon"), output.Cell(*words.condition(state))]]
    if state.answers:
        rows.append([label("version"), state.version or label("unknown")])
        rows.append([label("since"), output.local_time(state.started_at) or label("unknown")])
        rows.append([label("pid"), label("unknown") if state.pid is None else str(state.pid)])
        waiting = label("unknown") if state.spooled is None else str(state.spooled)
        rows.append([label("spool_waiting"), waiting])
    if state.answers and state.version != program:
        text = label("other_version").format(daemon=state.version, program=program)
        rows.append([label("problem"), output.Cell(text, "bad")])
    if state.store_problem:
        rows.append([label("problem"), output.Cell(state.store_problem, "bad")])
    if state.configuration_problem:
        rows.append([label("problem"), output.Cell(state.configuration_problem, "bad")])
    rows.append([label("log"), str(home.log)])
    return rows
