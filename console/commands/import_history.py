"""`te import`: the history in the agents' logs, into the store."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.log_places import agents_home_option
from tokeneconomizer.console.output import Table
from tokeneconomizer.domain.errors import TokeneconomizerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHILD_COMMAND = (sys.executable, "-I", "-m", "tokeneconomizer.scheduler.import_logs")
"""A process of its own: reading logs would keep a daemon, or this command's own bar, from answering."""

_WORDS = {
    "files": "log files read",
    "sessions": "sessions",
    "turns": "turns",
    "replies": "model replies with tokens",
    "events": "events new in the store",
    "skipped_lines": "damaged lines",
}


@click.command(name="import")
@agents_home_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON value.")
def command(*, agents_home: Path | None, as_json: bool) -> None:
    """Read the history in the agents' logs into the store.

    Each turn and each token once, however often it is run; of a session that was watched, only the turns from
    before that. Nothing of what prompts, files or outputs say is stored.
    """
    summary = _run(["--agents-home", str(agents_home.absolute())] if agents_home else [])
    for path, reason in cast("list[list[str]]", summary["unreadable"]):
        output.say(f"{path} was not read: {reason}")
    if as_json:
        output.print_json(summary)
        return
    rows = [(words, f"{summary[name]:,}") for name, words in _WORDS.items()]
    output.print_data(Table("", ("", ""), rows))


def _run(arguments: list[str]) -> Mapping[str, object]:
    """Run the child with a bar; return its summary."""
    with subprocess.Popen([*CHILD_COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as child:
        summary = _followed(child)
    if child.returncode or summary is None:
        message = (
            "the import did not end: see the words above, and run `te import` again; nothing is stored twice"
        )
        raise TokeneconomizerError(message)
    return summary


def _followed(child: subprocess.Popen[str]) -> Mapping[str, object] | None:
    words = map(json.loads, child.stdout or ())
    first = next(words, None)
    if first is None:
        return None
    done, summary = 0, None
    with output.progress("Reading the agents' logs", first["total"]) as advance:
        for told in words:
            summary = told.get("summary", summary)
            advance(told.get("done", done) - done)
            done = told.get("done", done)
    return summary
