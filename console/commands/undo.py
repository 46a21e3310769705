"""`te undo`: takes back what one event changed in an agent's file."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.deny_list_lines import tell_git_list
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.deny_lists import DenyList
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.prune_changes import changes_of_restoring, request_of
from tokeneconomizer.scheduler.sending import submit

WRITTEN = "tool_prune.deny_list_written"


@click.command(name="undo")
@click.argument("event", type=click.IntRange(1))
def command(event: int) -> None:
    """Take back what an event changed in an agent's file; EVENT is its number in `te audit list`."""
    home = Home.from_environment()
    deny_list = _deny_list(home, event)
    answer = deny_list.restore()
    output.print_json(answer.to_json())
    tell_git_list(answer)
    changes = changes_of_restoring(deny_list, answer)
    if changes:
        submit(home, request_of(deny_list.host, deny_list.place, changes))


def _deny_list(home: Home, position: int) -> DenyList:
    with EventLog(home.events) as log:
        found = log.event(position)
        if not isinstance(found, EventRow) or found.topic != WRITTEN:
            message = (
                f"event {position} changed no file: `te audit list --kind {WRITTEN}` shows those that did"
            )
            raise TokeneconomizerError(message)
        opened = log.first(found.stream_id)
    if not isinstance(opened, EventRow):
        message = f"the stream of event {position} cannot be read: `te prune restore` takes back by checkout"
        raise TokeneconomizerError(message)
    host, checkout = str(opened.data["host"]), Path(str(opened.data["checkout"]))
    return DenyList(home, AgentHomes(Path.home(), os.environ), host, checkout)
