"""`te context`: what really entered a turn's context, as numbers for programs and as a picture for people."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import context_input, output
from tokeneconomizer.console.context_palette import PALETTES
from tokeneconomizer.console.context_picture import Frame, picture, plain_text
from tokeneconomizer.console.state import view_of
from tokeneconomizer.console.words import Words
from tokeneconomizer.domain.accounting import collect_auto_invoke_snapshot
from tokeneconomizer.domain.context_breakdown import Usage, build_breakdown
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections import accounting
from tokeneconomizer.scheduler.context_files import DiskContextFiles, roots_of
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from rich.console import Console

    from tokeneconomizer.console.context_picture import Line
    from tokeneconomizer.domain.context_breakdown import ContextUsageBreakdown
    from tokeneconomizer.projections.accounting import AccountedTurn, SessionSums

LANGUAGES = ("en", "zh")


@click.group(name="context")
def command() -> None:
    """Show what really entered the context, or count it."""


@command.command(name="collect")
@click.option("--json", "as_json", is_flag=True, help="One JSON value; it is always one.")
def collect_command(*, as_json: bool) -> None:  # noqa: ARG001 - every command that prints data takes it
    """Make the snapshot of a turn from its tool calls, given as JSON on stdin."""
    given = context_input.read_object(sys.stdin.buffer.read())
    turn = context_input.turn_in(given, os.path.abspath(context_input.workspace_in(given)))  # noqa: PTH100 - pathlib keeps `..`
    files = DiskContextFiles(roots_of(Path.home(), os.environ))
    output.print_json(collect_auto_invoke_snapshot(context_input.records_in(given), turn, files).to_json())


@command.command(name="breakdown")
@click.option("--lang", type=click.Choice(LANGUAGES), help="The language of the labels.")
@click.option("--json", "as_json", is_flag=True, help="One JSON value; it is always one.")
def breakdown_command(lang: str | None, *, as_json: bool) -> None:  # noqa: ARG001 - the same
    """Take a context apart by kind, from usage, window, snapshot and pending parts given as JSON on stdin."""
    given = context_input.read_object(sys.stdin.buffer.read())
    found = build_breakdown(
        context_input.usage_in(given),
        context_input.window_in(given),
        context_input.entries_in(given.get("snapshot")),
        context_input.pending_in(given),
    )
    output.print_json(found.to_json(lang or Words.of_user().language))


@command.command(name="show")
@click.option("--session", metavar="ID", help="The agent's session; else the one with the newest turn.")
@click.option("--width", type=click.IntRange(min=1), metavar="N", help="Draw for so many columns.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="The language of the labels.")
@click.option("--window", type=click.IntRange(min=1), metavar="TOKENS", help="The model's context window.")
@click.option("--json", "as_json", is_flag=True, help="One JSON value.")
def show_command(
    session: str | None, width: int | None, lang: str | None, window: int | None, *, as_json: bool
) -> None:
    """Draw the context as the newest turn left it."""
    turn, sums = _newest_turn(session)
    entries = context_input.entries_in(context_input.read_object(turn.snapshot.encode()))
    usage = None
    if turn.usage is not None:
        reported = turn.usage
        usage = Usage(reported.input, reported.cache_read, reported.cache_write, reported.output)
    breakdown = build_breakdown(usage, window, entries, ())
    language = lang or Words.of_user().language
    if as_json:
        output.print_json(_shown(turn, sums, breakdown, language))
        return
    _draw(breakdown, width, language)


def _newest_turn(session: str | None) -> tuple[AccountedTurn, SessionSums]:
    """Return the turn to show, and the sums of its session."""
    with view_of(Home.from_environment(), accounting) as (view, trouble):
        if trouble:
            output.say(f"te: {trouble}")
        turn = accounting.newest_turn(view.connection(), session)
        if turn is not None:
            return turn, accounting.session_sums(view.connection(), turn.host, turn.session_id)
    message = "no turn was accounted yet: run `te setup`, work with your agent, then look again"
    if session is not None:
        message = f"no turn of the session {session!r} was accounted: `te status` lists the newest ones"
    raise TokeneconomizerError(message)


def _shown(
    turn: AccountedTurn, sums: SessionSums, breakdown: ContextUsageBreakdown, language: str
) -> dict[str, object]:
    return {
        "host": turn.host,
        "sessionId": turn.session_id,
        "turn": turn.turn,
        "endedAt": turn.ended_at,
        **breakdown.to_json(language),
        "session": {
            "turns": sums.turns,
            "replies": sums.replies,
            "input": sums.usage.input,
            "cacheRead": sums.usage.cache_read,
            "cacheWrite": sums.usage.cache_write,
            "output": sums.usage.output,
        },
    }


def _draw(breakdown: ContextUsageBreakdown, width: int | None, language: str) -> None:
    if not sys.stdout.isatty():
        columns = width or shutil.get_terminal_size().columns
        click.echo(plain_text(picture(breakdown, Frame(columns, language, PALETTES[None]))))
        return
    from rich.console import Console  # noqa: PLC0415 - only where a terminal is there to show it

    console = Console(highlight=False)
    # Where the terminal's characters have no dots, letters are shown.
    has_colour = not console.no_color and console.encoding.startswith("utf")
    palette = PALETTES.get(console.color_system if has_colour else None, PALETTES[None])
    for line in picture(breakdown, Frame(width or console.width, language, palette)):
        _print_line(console, line)


def _print_line(console: Console, line: Line) -> None:
    from rich.text import Text  # noqa: PLC0415 - the same

    console.print(Text.assemble(*line), soft_wrap=True)
