"""`te audit`: the history of events, in words or as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.commands.audit_explain import command as explain_command
from tokeneconomizer.console.commands.audit_verify import command as verify_command
from tokeneconomizer.console.state import view_of
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.projections import audit
from tokeneconomizer.projections.audit_words import words_of
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.store_guard import trouble_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.projections.audit import Entry
    from tokeneconomizer.projections.event_rows import Unreadable

LIST_EVENTS_MAX = 100_000
"""A list of that length is read by a program, and `te audit export` serves it better."""

DAMAGES_TOLD = 20
"""What is wrong with the first ones tells what is wrong with all."""

SESSION_CHARACTERS = 8
"""The beginning of an id tells sessions apart; `--json` prints all of it."""


@click.group(name="audit")
def command() -> None:
    """Read the history of events."""


command.add_command(explain_command)
command.add_command(verify_command)


@command.command(name="list")
@click.option(
    "--limit",
    type=click.IntRange(1, LIST_EVENTS_MAX),
    default=audit.ENTRIES_SHOWN,
    show_default=True,
    help="At most so many, the newest first.",
)
@click.option("--session", help="Only this session, with its sub-agents.")
@click.option("--kind", help="Only this kind of event, as session.redirected.")
@click.option("--decisions", is_flag=True, help="Only what was decided, not what the agent did.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def list_command(
    limit: int, session: str | None, kind: str | None, *, decisions: bool, as_json: bool
) -> None:
    """List what happened, the newest first."""
    home = Home.from_environment()
    entries, trouble = [], ""
    if home.events.exists():
        with view_of(home, audit) as (view, trouble), EventLog(home.events) as log:
            entries = audit.entries(
                view.connection(), log, session=session, kind=kind, decisions_only=decisions, limit=limit
            )
    if as_json:
        output.print_json([asdict(entry) for entry in entries])
    elif entries:
        headings = ("event", "time", "agent", "session", "kind", "what happened")
        output.print_data(output.Table("", headings, [_row(entry) for entry in entries]))
    else:
        output.say("no such event is stored" if home.events.exists() else "no event is stored yet")
    trouble = trouble_with(home) or trouble
    if trouble:
        raise TokeneconomizerError(trouble)


@command.command(name="show")
@click.argument("position", type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def show_command(position: int, *, as_json: bool) -> None:
    """Show the event at POSITION with all that is stored of it."""
    home = Home.from_environment()
    with EventLog(home.events) as log:
        event = log.event(position)
    if event is None:
        message = trouble_with(home) or f"there is no event {position}: `te audit list` shows the newest ones"
        raise TokeneconomizerError(message)
    if not isinstance(event, EventRow):
        raise TokeneconomizerError(_damage(event))
    if as_json:
        output.print_json(_exported(event))
        return
    about = {name: value for name, value in _exported(event).items() if name != "data"}
    rows = [
        ["what happened", words_of(event.topic, event.data)],
        *([name, str(value)] for name, value in about.items()),
    ]
    rows += [[name, _shown(value)] for name, value in event.data.items()]
    output.print_data(output.Table("", (), rows))


@command.command(name="export")
@click.option(
    "--since",
    "position",
    type=click.IntRange(0),
    default=0,
    metavar="POSITION",
    help="Only the events after this position.",
)
def export_command(position: int) -> None:
    """Print all events as JSON Lines, in the order in which they were stored."""
    home = Home.from_environment()
    damages: list[Unreadable] = []

    def readable(log: EventLog) -> Iterator[dict[str, object]]:
        for entry in log.entries(position):
            if isinstance(entry, EventRow):
                yield _exported(entry)
            else:
                damages.append(entry)

    try:
        with EventLog(home.events) as log:
            output.print_json_lines(readable(log))
    finally:
        for damage in damages[:DAMAGES_TOLD]:
            output.say(_damage(damage))
    if damages:
        message = (
            f"the store is damaged in {len(damages)} places, and all else was printed: "
            "keep this export, and put a backup of the store in its place"
        )
        raise TokeneconomizerError(message)
    trouble = trouble_with(home)
    if trouble:
        raise TokeneconomizerError(trouble)


def _exported(event: EventRow) -> dict[str, object]:
    """Return an event as `te audit export` promises it."""
    return {
        "position": event.position,
        "aggregate": event.stream_id,
        "type": event.topic,
        "version": event.stream_version,
        "at": event.at,
        "data": event.data,
    }


def _row(entry: Entry) -> list[output.Cell | str]:
    meaning = "bad" if entry.delivered is False else ("doubtful" if entry.is_decision else "")
    return [
        str(entry.position),
        output.Cell(output.local_time(entry.at), "quiet"),
        entry.host,
        entry.session_id[:SESSION_CHARACTERS],
        output.Cell(entry.kind, meaning),
        entry.summary,
    ]


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _damage(entry: Unreadable) -> str:
    return f"event {entry.position} {entry.topic}: {entry.error}"
