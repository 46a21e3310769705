"""`te prune`: which tools a checkout's agent need not load, and the pen that writes it down."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.commands import prune_views
from tokeneconomizer.console.config_file import Layer, announce, assign
from tokeneconomizer.console.deny_list_lines import tell_git_list
from tokeneconomizer.console.installations.given import agents_home_from
from tokeneconomizer.console.state import configuration_in_force, place_of_folder, view_of
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.settings import setting_of
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.projections import prune_evidence
from tokeneconomizer.scheduler.agent_versions import version_of
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.prune_changes import (
    changes_of_restoring,
    changes_of_writing,
    pended,
    request_of,
)
from tokeneconomizer.scheduler.prune_state import KEEP_KEY
from tokeneconomizer.scheduler.sending import submit
from tokeneconomizer.writers.errors import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.projections.prune_evidence import ListLine
    from tokeneconomizer.scheduler.prune_changes import PruneChange

BARE_NAME = re.compile(r"[^\s(),\x00-\x1f\x7f]+")
"""A rule with a pattern, as `Bash(rm:*)`, takes no tool away."""

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


def _target_options(function: Callable[..., None]) -> Callable[..., None]:
    agents_home = click.Path(file_okay=False, path_type=Path)
    for option in (
        click.option("--agents-home", type=agents_home, help="Where agents' own files are, instead of HOME."),
        click.option("--checkout", type=FOLDER, required=True, help="Whose agent's file is meant."),
        click.option("--host", type=click.Choice(HOST_NAMES), required=True, help="The agent."),
    ):
        function = option(function)
    return function


def _name(_context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not BARE_NAME.fullmatch(name):
            message = f"`{name}` is no bare name"
            raise click.BadParameter(message, param=parameter)
    return value


@click.group(name="prune")
def command() -> None:
    """Take tools away from an agent that a repository never uses."""


for view in (prune_views.status, prune_views.evidence, prune_views.propose, prune_views.refresh_catalog):
    command.add_command(view)


@command.command(name="apply")
@_target_options
@click.option(
    "--deny", "names", multiple=True, metavar="NAME", callback=_name, help="A name; may be repeated."
)
@click.option("--now", is_flag=True, help="Write at once, without the idle wait.")
@click.option("--allow-tracked", is_flag=True, help="Also change a file that git tracks; with --now.")
def apply_command(
    host: str,
    checkout: Path,
    agents_home: Path | None,
    names: tuple[str, ...],
    *,
    now: bool,
    allow_tracked: bool,
) -> None:
    """Approve names to deny: those of --deny, else those that are proposed."""
    deny_list = _deny_list(host, checkout, agents_home)
    chosen = list(dict.fromkeys(names)) or _proposed(deny_list)
    if not now:
        _store(deny_list, [pended(chosen, "user")])
        output.say(f"{', '.join(chosen)}: to be denied as soon as the repository has been idle long enough")
        return
    answer = deny_list.apply(chosen, allow_tracked=allow_tracked)
    output.print_json(answer.to_json())
    tell_git_list(answer)
    changes = changes_of_writing(deny_list, answer, chosen, overridden=True)
    if answer.refused is not None and answer.refused.reason != Reason.UNKNOWN_NAME:
        # What was to be written is approved all the same, and waits for the file to be mended.
        changes = [pended(list(dict.fromkeys([*_approved(deny_list), *chosen])), "user"), *changes]
    _store(deny_list, changes)


@command.command(name="restore")
@_target_options
def restore_command(host: str, checkout: Path, agents_home: Path | None) -> None:
    """Take back exactly what was written into an agent's file."""
    deny_list = _deny_list(host, checkout, agents_home)
    answer = deny_list.restore()
    output.print_json(answer.to_json())
    tell_git_list(answer)
    _store(deny_list, changes_of_restoring(deny_list, answer))


@command.command(name="keep")
@click.argument("names", nargs=-1, required=True, callback=_name)
@click.option("--repo", type=FOLDER, help="For the repository of this folder.")
@click.option("--host", type=click.Choice(HOST_NAMES), help="For one agent.")
def keep_command(names: tuple[str, ...], repo: Path | None, host: str | None) -> None:
    """Never propose these names."""
    if repo is not None and host is not None:
        message = "a value is set for an agent or for a repository: give one of --host and --repo"
        raise click.UsageError(message)
    repository = "" if repo is None else place_of_folder(repo).repository
    home = Home.from_environment()
    kept = str(configuration_in_force().get(KEEP_KEY, host=host or "", repository=repository))
    value = ",".join(dict.fromkeys([*kept.replace(",", " ").split(), *names]))
    assign(home, setting_of(KEEP_KEY), value, Layer(host or "", repository))
    trouble = announce(home)
    if trouble:
        output.say(f"the value is in {home.config}, but its event is not stored yet: {trouble}")


def _deny_list(host: str, checkout: Path, agents_home: Path | None) -> DenyList:
    environment = {} if agents_home else dict(os.environ)
    homes = AgentHomes(agents_home_from(agents_home), environment)
    return DenyList(Home.from_environment(), homes, host, checkout, version_of(host))


def _proposed(deny_list: DenyList) -> list[str]:
    line = _line(deny_list)
    if line is not None and line.names:
        return line.names
    message = f"nothing is proposed for {deny_list.host} in {deny_list.place.checkout}: name tools by --deny"
    raise TokeneconomizerError(message)


def _approved(deny_list: DenyList) -> list[str]:
    line = _line(deny_list)
    return line.names if line is not None and line.approved_at else []


def _line(deny_list: DenyList) -> ListLine | None:
    home = Home.from_environment()
    if not home.events.exists():
        return None
    with view_of(home, prune_evidence) as (view, _):
        lines = prune_evidence.lists(view.connection())
    ours = (deny_list.host, deny_list.place.checkout)
    return next((line for line in lines if (line.host, line.checkout) == ours), None)


def _store(deny_list: DenyList, changes: Sequence[PruneChange]) -> None:
    if changes:
        submit(Home.from_environment(), request_of(deny_list.host, deny_list.place, changes))
