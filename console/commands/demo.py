"""`te demo`: the main job on a sample session that comes with the program."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output, playing
from tokeneconomizer.console.installations.given import te_words

if TYPE_CHECKING:
    from tokeneconomizer.console.playing import Played
    from tokeneconomizer.scheduler.home import Home

PAUSE_S = 0.5
"""One can read along, and the whole session takes a quarter of a minute."""

INTRODUCTION = """\
A session of Claude Code as it was recorded: a test fails, and the agent goes in circles. Its hook calls are
now played through the real hook client into a real daemon, in a throw-away home.
"""


@click.command(name="demo")
@click.option("--fast", is_flag=True, help="Without pauses.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Use this folder as home, and keep it.",
)
def command(*, fast: bool, keep: Path | None) -> None:
    """Show the main job on a sample session, in a throw-away home."""
    click.echo(INTRODUCTION)
    with playing.throw_away_home(keep) as home:
        for payload in playing.recording():
            _tell(playing.play(payload, home))
            if not fast:
                time.sleep(PAUSE_S)
        _show("What is known now", "status")
        _show("What was decided, from the event history", "audit", "list", "--decisions")
        _tell_where(home, kept=keep is not None)


def _tell(played: Played) -> None:
    for line in played.lines:
        output.print_styled(f"  {line}", "bad" if line.endswith("failed") else "")
    if played.context:
        output.print_styled(f"\n  beside this result the model now reads:\n  {played.context}\n", "good")
    if played.hint:
        output.print_styled(f"\n  the user sees:\n  {played.hint}\n", "doubtful")


def _show(title: str, *arguments: str) -> None:
    output.print_styled(f"\n{title}  (te {' '.join(arguments)})\n", "quiet")
    # The command as the user would call it; what it prints goes where ours goes.
    sys.stdout.flush()
    subprocess.run([*te_words(), *arguments], check=True)


def _tell_where(home: Home, *, kept: bool) -> None:
    output.print_styled("\nWhere everything lies  (in a real installation: ~/.tokeneconomizer)\n", "quiet")
    places = (
        (home.events, "every event, for ever"),
        (home.views, "what is derived from the events, rebuilt at will"),
        (home.config, "your settings, once you change one"),
        (home.spool, "hook calls that wait for the daemon"),
        (home.log, "the daemon's log"),
    )
    for path, meaning in places:
        click.echo(f"  {path}  {meaning}")
    click.echo("\nkept for you to look at" if kept else "\nremoved now; `te demo --keep DIR` keeps it")
