"""`te status`: what was heard, redirected and hinted, and what each part is doing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.output import Cell, Table
from tokeneconomizer.console.overview import overview_of
from tokeneconomizer.console.words import Words
from tokeneconomizer.scheduler.home import Home

if TYPE_CHECKING:
    from tokeneconomizer.console.deny_list_lines import DenyListLine
    from tokeneconomizer.console.overview import Overview
    from tokeneconomizer.projections.counters import SessionLine

    Rows = list[list[Cell | str]]

COUNTED = (
    "sessions",
    "sub_agents",
    "prompts_human",
    "prompts_machine",
    "calls",
    "failed",
    "never_ran",
    "redirects",
    "hints",
    "gates",
    "judge_calls",
    "verdicts_stuck",
    "delivery_failures",
)
"""The counters that a person looks for; `--json` prints all."""

SESSION_CHARACTERS = 8
"""The beginning of an id tells sessions apart; `--json` prints all of it."""

LOCAL = "path:"
"""How the identity of a repository without a remote begins; `--json` prints it whole."""

STATE_MEANINGS = {"working": "good", "redirected": "doubtful", "stuck": "bad"}


@click.command(name="status")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
def command(*, as_json: bool) -> None:
    """Show what was heard, redirected and hinted."""
    overview = overview_of(Home.from_environment(), datetime.now(UTC))
    if as_json:
        output.print_json(overview.to_json())
        return
    words = Words(overview.language)
    output.print_data(*(table for table in tables_of(overview, words) if table.rows))
    if overview.counts is None and not overview.troubles:
        output.say(words.label("nothing_yet"))


def tables_of(overview: Overview, words: Words) -> list[Table]:
    """Return the overview in the user's words."""
    label = words.label
    return [
        Table("", (), [*_daemon_rows(overview, words), *_problem_rows(overview, words)]),
        Table(label("parts"), (), _part_rows(overview, words)),
        Table(label("heard"), (), _heard_rows(overview, words)),
        Table(label("counted"), (), _count_rows(overview, words)),
        Table(label("redirected_by"), (), _rule_rows(overview)),
        Table(label("deny_lists"), (), [_deny_list_row(line, words) for line in overview.deny_lists or ()]),
        Table(
            label("sessions_newest"),
            tuple(map(label, ("agent", "session", "repository", "state", "turn", "last_event"))),
            [_session_row(session, words) for session in overview.sessions or ()],
        ),
    ]


def _daemon_rows(overview: Overview, words: Words) -> Rows:
    daemon, label = overview.daemon, words.label
    rows: Rows = [[label("home"), overview.home], [label("daemon"), Cell(*words.condition(daemon))]]
    if daemon.answers and daemon.version != overview.program_version:
        text = label("other_version").format(daemon=daemon.version, program=overview.program_version)
        rows.append([label("problem"), Cell(text, "bad")])
    return rows


def _problem_rows(overview: Overview, words: Words) -> Rows:
    label = words.label
    rows: Rows = [
        [label("problem"), Cell(text, "bad")]
        for text in (overview.configuration_problem, *overview.troubles)
        if text
    ]
    for name, number in (
        ("spool_waiting", overview.spool_waiting),
        ("spool_refused", overview.spool_refused),
        ("set_aside", overview.set_aside),
    ):
        if number is None:
            rows.append([label(name), Cell(label("unknown"), "doubtful")])
        else:
            rows.append([label(name), Cell(str(number), "doubtful" if number else "")])
    return rows


def _part_rows(overview: Overview, words: Words) -> Rows:
    return [
        [words.label(part.name), Cell(part.value, "quiet" if part.value == "off" else "good")]
        for part in overview.parts
    ]


def _heard_rows(overview: Overview, words: Words) -> Rows:
    if overview.heard is None:
        return []
    heard = sorted(overview.heard.items(), key=lambda item: item[1], reverse=True)
    rows: Rows = [[host, output.local_time(at)] for host, at in heard]
    return rows or [[Cell(words.label("none"), "doubtful")]]


def _count_rows(overview: Overview, words: Words) -> Rows:
    if overview.counts is None:
        return []
    active = words.label("unknown") if overview.active is None else f"{overview.active:,}"
    rows: Rows = [[words.label("active"), active]]
    rows += [[words.label(name), f"{getattr(overview.counts, name):,}"] for name in COUNTED]
    return rows


def _rule_rows(overview: Overview) -> Rows:
    return [[rule, f"{redirects:,}"] for rule, redirects in (overview.redirects_by_rule or {}).items()]


def _deny_list_row(line: DenyListLine, words: Words) -> list[Cell | str]:
    left = ""
    if line.minutes_left is not None:
        left = words.label("minutes_left").format(minutes=line.minutes_left)
    return [line.host, line.checkout, line.names, left, Cell(line.refusal, "bad")]


def repository_name(identity: str) -> str:
    """Return a repository's name as it fits into a row: of one without a remote, its folder's."""
    if not identity.startswith(LOCAL):
        return identity
    folder = PurePosixPath(identity.removeprefix(LOCAL))
    return (folder.parent if folder.name == ".git" else folder).name or identity


def _session_row(session: SessionLine, words: Words) -> list[Cell | str]:
    return [
        session.host,
        session.session_id[:SESSION_CHARACTERS],
        repository_name(session.repository),
        Cell(words.label(f"state_{session.state}"), STATE_MEANINGS.get(session.state, "")),
        str(session.turn),
        Cell(output.local_time(session.last_at), "quiet"),
    ]
