"""Options that say whose logs a command reads."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS

agents_home_option = click.option(
    "--agents-home",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Look for the agents' folders here, as if it were the home folder.",
)

host_option = click.option("--host", type=click.Choice(list(LOGS)), help="Of one agent only.")


def homes_of(agents_home: Path | None) -> AgentHomes:
    """Return where to look: a folder named by the user moves all agents, and no variable counts."""
    return AgentHomes(agents_home.absolute()) if agents_home else AgentHomes(Path.home(), os.environ)
