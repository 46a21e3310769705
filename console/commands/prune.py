"""`te prune`: which tools a checkout's agent need not load, and the pen that writes it down."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.installing import agents_home_from
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.scheduler.agent_versions import version_of
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.prune_changes import (
    PruneChange,
    changes_of_restoring,
    changes_of_writing,
    request_of,
)
from tokeneconomizer.scheduler.sending import submit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BARE_NAME = re.compile(r"[^\s()\x00-\x1f\x7f]+")
"""A rule with a pattern, as `Bash(rm:*)`, takes no tool away."""


def _target_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--host", type=click.Choice(HOST_NAMES), required=True, help="The agent."),
        click.option(
            "--checkout",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            required=True,
            help="The folder whose agent's file is meant.",
        ),
        click.option(
            "--agents-home",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where agents' own files are looked for, instead of HOME.",
        ),
    ):
        function = option(function)
    return function


@click.group(name="prune")
def command() -> None:
    """Take tools away from an agent that a repository never uses."""


@command.command(name="apply")
@_target_options
@click.option("--deny", "names", multiple=True, metavar="NAME", help="A name to deny; may be repeated.")
@click.option("--now", is_flag=True, help="Write at once, without the idle wait.")
@click.option("--allow-tracked", is_flag=True, help="Also change a file that git tracks.")
def apply_command(
    host: str,
    checkout: Path,
    agents_home: Path | None,
    names: tuple[str, ...],
    *,
    now: bool,
    allow_tracked: bool,
) -> None:
    """Approve a list of names to deny, and with --now write it."""
    for name in names:
        if not BARE_NAME.fullmatch(name):
            message = f"`{name}` is no bare name"
            raise click.BadParameter(message, param_hint="--deny")
    deny_list = _deny_list(host, checkout, agents_home)
    if not now:
        _store(deny_list, [PruneChange("pended", {"names": list(names), "approved_by": "user"})])
        output.say(f"{', '.join(names)}: will be denied when the repository has been idle long enough")
        return
    answer = deny_list.apply(names, allow_tracked=allow_tracked)
    output.print_json(asdict(answer))
    _store(deny_list, changes_of_writing(deny_list, answer, names, overridden=True))


@command.command(name="restore")
@_target_options
def restore_command(host: str, checkout: Path, agents_home: Path | None) -> None:
    """Take back exactly what was written into an agent's file."""
    deny_list = _deny_list(host, checkout, agents_home)
    answer = deny_list.restore()
    output.print_json(asdict(answer))
    _store(deny_list, changes_of_restoring(deny_list, answer))


def _deny_list(host: str, checkout: Path, agents_home: Path | None) -> DenyList:
    environment = {} if agents_home else dict(os.environ)
    homes = AgentHomes(agents_home_from(agents_home), environment)
    return DenyList(Home.from_environment(), homes, host, checkout, version_of(host))


def _store(deny_list: DenyList, changes: Sequence[PruneChange]) -> None:
    if changes:
        submit(Home.from_environment(), request_of(deny_list.host, deny_list.place, changes))
