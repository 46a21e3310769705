"""`te setup`: installs hooks, plugins and skills into the agents that are here, or removes them."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import daemon_process, output
from tokeneconomizer.console import service as services
from tokeneconomizer.console.installations.given import agents_home_from, hook_words
from tokeneconomizer.console.installations.report import Report
from tokeneconomizer.console.installations.table import INSTALLATIONS
from tokeneconomizer.console.untold import Change, Untold
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.scheduler.control import SETUP_CHANGED
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.sending import submit
from tokeneconomizer.writers.errors import WriteRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.console.installations.shape import Installation


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for."""

    uninstall: bool
    dry_run: bool

    @property
    def action(self) -> str:
        """The name in the log."""
        return "uninstall" if self.uninstall else "install"


@dataclass(slots=True)
class Outcome:
    """What became of one agent, or of the service."""

    host: str
    report: Report = field(default_factory=Report)
    refusal: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "host": self.host,
            "changed": self.report.changed,
            "notes": self.report.notes,
            "refused": self.refusal,
        }


@click.command(name="setup")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--uninstall", is_flag=True, help="Remove everything again.")
@click.option("--service", is_flag=True, help="Have systemd or launchd keep the daemon running.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--print-hook", is_flag=True, help="Print the hook's command line of one HOST, and do nothing.")
@click.option("--allow-tracked", is_flag=True, help="Also change a settings file that git tracks.")
@click.option(
    "--agents-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the agents' own files are, instead of HOME.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON value.")
def command(  # noqa: PLR0913 - one parameter an option
    hosts: tuple[str, ...],
    *,
    uninstall: bool,
    service: bool,
    dry_run: bool,
    print_hook: bool,
    allow_tracked: bool,
    agents_home: Path | None,
    as_json: bool,
) -> None:
    """Install into the agents that are here, or into those named; says each file that changed."""
    _refuse_unknown(hosts)
    if print_hook:
        _print_hook(hosts)
        return
    home, folder = Home.from_environment(), agents_home_from(agents_home)
    wish = Wish(uninstall=uninstall, dry_run=dry_run)
    agents = _agents(home, folder, hosts, allow_tracked=allow_tracked, uninstall=uninstall)
    home.create()
    outcomes = [_change(home, agent, wish) for agent in agents]
    if service or uninstall:
        outcomes.append(_keep_running(home, folder, wish))
    if as_json:
        agents_told = [outcome.to_json() for outcome in outcomes if outcome.host]
        output.print_json(
            {
                "dry_run": dry_run,
                "agents": agents_told,
                "changed": [file for outcome in outcomes for file in outcome.report.changed],
            }
        )
    else:
        _tell(outcomes, wish)
    _fail_if_refused(outcomes)


def _refuse_unknown(hosts: tuple[str, ...]) -> None:
    for name in hosts:
        if name not in INSTALLATIONS:
            message = f"there is no agent `{name}`: name one of {', '.join(INSTALLATIONS)}"
            raise click.UsageError(message)


def _print_hook(hosts: tuple[str, ...]) -> None:
    if len(hosts) != 1:
        message = "--print-hook takes exactly one HOST"
        raise click.UsageError(message)
    click.echo(shlex.join([*hook_words(), "--host", hosts[0]]))


def _agents(
    home: Home, folder: Path, hosts: tuple[str, ...], *, allow_tracked: bool, uninstall: bool
) -> list[Installation]:
    """Return those that were named; else all that are here, or, to be removed from, all."""
    made: dict[str, Installation] = {
        name: make(home, folder, os.environ, allow_tracked=allow_tracked)
        for name, make in INSTALLATIONS.items()
        if not hosts or name in hosts
    }
    found = [agent for agent in made.values() if hosts or uninstall or agent.is_present()]
    if not found:
        names = ", ".join(agent.TITLE for agent in INSTALLATIONS.values())
        message = f"no agent was found in {folder}: install one of {names} first, or name it"
        raise TokeneconomizerError(message)
    return found


def _change(home: Home, agent: Installation, wish: Wish) -> Outcome:
    """Install into one agent or remove from it; a refusal there leaves the others their turn."""
    outcome = Outcome(agent.NAME)
    act: Callable[..., Report] = agent.uninstall if wish.uninstall else agent.install
    try:
        outcome.report = act(dry_run=True)
        version = agent.version()
        if not wish.dry_run:
            outcome.report = _change_and_tell(home, agent.NAME, wish, act, outcome.report, version)
    except WriteRefused as refusal:
        outcome.refusal = str(refusal)
        outcome.report = Report()
    else:
        outcome.report.notes += [] if wish.uninstall else agent.notes(version)
    return outcome


def _change_and_tell(
    home: Home, host: str, wish: Wish, act: Callable[..., Report], planned: Report, version: str
) -> Report:
    untold = Untold(home)
    earlier = untold.changes()
    untold.keep([*earlier, Change(wish.action, planned.changed, host)])
    try:
        report = act(dry_run=False)
    except Exception:
        untold.keep(earlier)
        raise
    for change in [*earlier, Change(wish.action, report.changed, host)]:
        if change.files:
            _tell_log(home, change, version if change.host == host else "")
    untold.keep(())
    return report


def _tell_log(home: Home, change: Change, agent_version: str) -> None:
    submit(
        home,
        {
            "name": SETUP_CHANGED,
            "host": change.host,
            "action": change.action,
            "files": change.files,
            "program_version": output.program_version(),
            "agent_version": agent_version,
        },
    )


def _keep_running(home: Home, folder: Path, wish: Wish) -> Outcome:
    service = services.service_for(sys.platform, folder, os.environ, home)
    if wish.uninstall:
        return Outcome("", services.uninstall(service, dry_run=wish.dry_run))
    if not wish.dry_run:
        # The service's own daemon is to hold the lock.
        daemon_process.stop(home)
    return Outcome("", services.install(service, dry_run=wish.dry_run))


def _tell(outcomes: list[Outcome], wish: Wish) -> None:
    verb = "would change" if wish.dry_run else "changed"
    for outcome in outcomes:
        for file in outcome.report.changed:
            click.echo(f"{verb}  {file}")
        for note in outcome.report.notes:
            output.say(note)
        if outcome.host in INSTALLATIONS and outcome.report.changed and not (wish.uninstall or wish.dry_run):
            output.say(INSTALLATIONS[outcome.host].NEXT)
    if not any(outcome.report.changed or outcome.refusal for outcome in outcomes):
        output.say(
            "nothing to change: it is all " + ("removed" if wish.uninstall else "in place") + " already"
        )


def _fail_if_refused(outcomes: list[Outcome]) -> None:
    refused = [outcome for outcome in outcomes if outcome.refusal]
    if refused:
        message = "; ".join(
            f"{INSTALLATIONS[outcome.host].TITLE} was left as it is: {outcome.refusal}" for outcome in refused
        )
        raise TokeneconomizerError(message)
