"""`te setup`: installs hooks, plugin and skills into the agents that are here, or removes them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from tokeneconomizer.console import daemon_process, installing, output
from tokeneconomizer.console import service as services
from tokeneconomizer.console.untold import Change, Untold
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts.claude_code import installation
from tokeneconomizer.hosts.claude_code.payload import NAME as CLAUDE_CODE
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.scheduler.control import SETUP_CHANGED
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.sending import submit


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
    """Install the hooks into your agents, or remove them; says each file that changed."""
    _refuse_unknown(hosts)
    if print_hook:
        _print_hook(hosts)
        return
    home = Home.from_environment()
    folder = installing.agents_home_from(agents_home)
    agent = installing.ClaudeCode(home, folder, os.environ, allow_tracked=allow_tracked)
    if not hosts and not uninstall and not agent.is_present():
        message = (
            f"no agent was found in {folder}: install Claude Code first, or name it: `te setup {CLAUDE_CODE}`"
        )
        raise TokeneconomizerError(message)
    home.create()

    def change(*, dry_run: bool) -> installing.Report:
        report = agent.uninstall(dry_run=dry_run) if uninstall else agent.install(dry_run=dry_run)
        if service or uninstall:
            _keep_running(home, folder, report, uninstall=uninstall, dry_run=dry_run)
        return report

    report = change(dry_run=True)
    version = agent.version()
    if not dry_run:
        untold = Untold(home)
        earlier, action = untold.changes(), "uninstall" if uninstall else "install"
        untold.keep([*earlier, Change(action, report.changed)])
        try:
            report = change(dry_run=False)
        except Exception:
            untold.keep(earlier)
            raise
        _tell_log(home, [*earlier, Change(action, report.changed)], version)
        untold.keep(())
    report.notes += _notes(folder, version, hosts, uninstall=uninstall)
    if as_json:
        output.print_json(
            {"host": CLAUDE_CODE, "dry_run": dry_run, "changed": report.changed, "notes": report.notes}
        )
        return
    _tell(report, uninstall=uninstall, dry_run=dry_run)


def _keep_running(
    home: Home, folder: Path, report: installing.Report, *, uninstall: bool, dry_run: bool
) -> None:
    service = services.service_for(sys.platform, folder, os.environ, home)
    if uninstall:
        done = services.uninstall(service, dry_run=dry_run)
    else:
        if not dry_run:
            # The service's own daemon is to hold the lock.
            daemon_process.stop(home)
        done = services.install(service, dry_run=dry_run)
    report.changed += done.changed
    report.notes += done.notes


def _refuse_unknown(hosts: tuple[str, ...]) -> None:
    for name in hosts:
        if name not in HOST_NAMES:
            message = f"there is no agent `{name}`: name one of {', '.join(HOST_NAMES)}"
            raise click.UsageError(message)
        if name != CLAUDE_CODE:
            message = f"this version does not install into {name} yet: it knows {CLAUDE_CODE}"
            raise TokeneconomizerError(message)


def _print_hook(hosts: tuple[str, ...]) -> None:
    if len(hosts) != 1:
        message = "--print-hook takes exactly one HOST"
        raise click.UsageError(message)
    click.echo(shlex.join([*installing.hook_words(), "--host", hosts[0]]))


def _tell_log(home: Home, changes: list[Change], agent_version: str) -> None:
    for change in changes:
        if not change.files:
            continue
        submit(
            home,
            {
                "name": SETUP_CHANGED,
                "host": CLAUDE_CODE,
                "action": change.action,
                "files": change.files,
                "program_version": output.program_version(),
                "agent_version": agent_version,
            },
        )


def _notes(folder: Path, version: str, hosts: tuple[str, ...], *, uninstall: bool) -> list[str]:
    notes = []
    if not uninstall and installation.is_older_than_measured(version):
        oldest = ".".join(str(part) for part in installation.OLDEST_MEASURED)
        notes.append(
            f"Claude Code {version} is older than {oldest}: without its PostToolBatch hook nothing is "
            "redirected. Update it."
        )
    if not hosts and not uninstall:
        others = installing.other_agents_present(folder)
        if others:
            notes.append(f"also found, and not spoken with by this version: {', '.join(others)}")
    return notes


def _tell(report: installing.Report, *, uninstall: bool, dry_run: bool) -> None:
    verb = "would change" if dry_run else "changed"
    for file in report.changed:
        click.echo(f"{verb}  {file}")
    for note in report.notes:
        output.say(note)
    if not report.changed:
        output.say("nothing to change: it is all " + ("removed" if uninstall else "in place") + " already")
    elif not dry_run and not uninstall:
        output.say("Claude Code loads the hooks at its next start; `te status` shows what they tell.")
