"""`te prune status`, `evidence`, `propose` and `refresh-catalog`: what is known of tools, and made of it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.state import configuration_in_force, view_of
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.log_format import AgentHomes, Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.projections import prune_evidence
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.catalogues import Catalogues, record_catalogues
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.prune_round import Ground as RoundGround
from tokeneconomizer.scheduler.prune_round import PruneRound
from tokeneconomizer.scheduler.prune_state import PruneState
from tokeneconomizer.scheduler.sending import Sending

if TYPE_CHECKING:
    from tokeneconomizer.scheduler.prune_state import Checkout

HOST_OPTION = click.option("--host", type=click.Choice(HOST_NAMES), help="Only this agent.")
CHECKOUT_OPTION = click.option(
    "--checkout", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Only this checkout."
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


@click.command(name="status")
@JSON_OPTION
def status(*, as_json: bool) -> None:
    """Show each checkout's list: what is proposed, pending, written, refused."""
    lines = [status_of(checkout) for checkout in known_checkouts()]
    if as_json:
        output.print_json(lines)
    elif lines:
        headings = ("agent", "checkout", "mode", "state", "names", "minutes left", "refused", "saves")
        output.print_data(output.Table("", headings, [_status_row(line) for line in lines]))
    else:
        output.say("no checkout is known yet")


@click.command(name="evidence")
@HOST_OPTION
@CHECKOUT_OPTION
@JSON_OPTION
def evidence(host: str | None, checkout: Path | None, *, as_json: bool) -> None:
    """Show for each tool what went by since it was used, and what follows."""
    chosen = _chosen(known_checkouts(), host, checkout)
    if as_json:
        output.print_json([{**status_of(one), "tools": _tools_of(one)} for one in chosen])
        return
    headings = ("tool", "verdict", "characters", "uses", "prompts since", "sessions since", "last use")
    for one in chosen:
        assumed = ", as this agent does by default" if one.is_assumed else ""
        title = f"{one.host} in {one.path}{assumed}"
        rows = [
            [
                judged.unit.name,
                str(judged.verdict),
                "" if judged.unit.characters is None else f"{judged.unit.characters:,}",
                str(judged.silence.uses),
                str(judged.silence.prompts),
                str(judged.silence.sessions),
                output.local_time(judged.silence.last_use),
            ]
            for judged in one.judged
        ]
        output.print_data(output.Table(title, headings, rows))


@click.command(name="propose")
def propose() -> None:
    """Look for unused tools now, rather than at the next round of the daemon."""
    home, homes = Home.from_environment(), _homes()
    if not home.events.exists():
        output.say("no event is stored yet: nothing can be proposed")
        return
    in_force = configuration_in_force()
    with (
        view_of(home, prune_evidence) as (view, _),
        EventLog(home.events) as log,
        Sending(home) as sending,
    ):
        PruneRound(RoundGround(home, homes, in_force), log, view, sending.ask).propose()
    for checkout in known_checkouts():
        if checkout.line is not None and checkout.line.names:
            output.say(f"{checkout.host} in {checkout.path}: {', '.join(checkout.line.names)}")


@click.command(name="refresh-catalog")
@HOST_OPTION
def refresh_catalog(host: str | None) -> None:
    """Read the tools that agents offer from their logs again."""
    home = Home.from_environment()
    home.create()
    user_home = str(Path.home())
    with EventLog(home.events) as log, Sending(home) as sending:
        place_of = LogPlaces(user_home).of
        ground = Ground(log, Hasher(home.key()), user_home, place_of, sending.send, sending.ask)
        seen = []
        for file in find(_homes(), [host] if host else LOGS):
            catalogues = Catalogues(file.host)
            with suppress(OSError):
                for batch in LOGS[file.host].read(file, None, Wanted.ALL):
                    for record in batch.records:
                        catalogues.take(record)
            seen += catalogues.seen(is_whole_log=True)
        record_catalogues(ground, seen)
    output.say(f"{len(seen)} sessions show their tools")


def known_checkouts() -> list[Checkout]:
    """Return what is known of all checkouts; none before anything was stored."""
    home = Home.from_environment()
    if not home.events.exists():
        return []
    with view_of(home, prune_evidence) as (view, _):
        state = PruneState(view.connection(), configuration_in_force(), _homes())
        return state.checkouts(datetime.now(UTC))


def status_of(checkout: Checkout) -> dict[str, object]:
    """Return where a checkout's list stands, as JSON values."""
    about = {
        "host": checkout.host,
        "checkout": checkout.path,
        "repository": checkout.repository,
        "mode": checkout.mode,
        "characters_saved": checkout.characters_saved,
        "catalog_assumed": checkout.is_assumed,
    }
    line = checkout.line
    if line is None:
        nothing: dict[str, object] = {"proposed": [], "pending": [], "written": [], "refused": None}
        return {**about, "state": "observing", "approved_by": "", "minutes_left": None, **nothing}
    is_pending = bool(line.approved_at)
    return {
        **about,
        "state": line.state,
        "approved_by": line.approved_by,
        "minutes_left": _minutes_left(checkout) if is_pending else None,
        "proposed": [] if is_pending else line.names,
        "pending": line.names if is_pending else [],
        "written": line.written,
        "refused": {"reason": line.refusal, "detail": line.detail} if line.refusal else None,
    }


def names_of(line: dict[str, object]) -> str:
    """Return the names of a list in one line, by what is to become of them."""
    parts = []
    for word in ("proposed", "pending", "written"):
        names = line[word]
        if isinstance(names, list) and names:
            parts.append(f"{word}: {', '.join(names)}")
    return "; ".join(parts)


def refusal_of(line: dict[str, object]) -> str:
    """Return why a list was not written, in one line."""
    refused = line["refused"]
    return f"{refused['reason']}: {refused['detail']}" if isinstance(refused, dict) else ""


def _minutes_left(checkout: Checkout) -> int:
    """Return how long the repository must stay idle still, by the newest event alone."""
    with view_of(Home.from_environment(), prune_evidence) as (view, _):
        newest = prune_evidence.last_activity(view.connection(), checkout.repository)
    place = {"host": checkout.host, "repository": checkout.repository}
    wait = int(configuration_in_force().get("prune.idle_minutes", **place))
    if not newest:
        return wait
    passed_s = (datetime.now(UTC) - datetime.fromisoformat(newest)).total_seconds()
    return max(0, min(wait, wait - int(passed_s // 60)))


def _status_row(line: dict[str, object]) -> list[output.Cell | str]:
    left, saved = line["minutes_left"], line["characters_saved"]
    return [
        *(str(line[word]) for word in ("host", "checkout", "mode", "state")),
        names_of(line),
        "" if left is None else str(left),
        output.Cell(refusal_of(line), "bad"),
        f"{saved} characters" if saved else "",
    ]


def _tools_of(checkout: Checkout) -> list[dict[str, object]]:
    return [
        {
            **asdict(one.silence),
            "name": one.unit.name,
            "characters": one.unit.characters,
            "verdict": one.verdict,
        }
        for one in checkout.judged
    ]


def _chosen(checkouts: list[Checkout], host: str | None, checkout: Path | None) -> list[Checkout]:
    path = None if checkout is None else str(checkout.resolve())
    return [one for one in checkouts if host in {None, one.host} and path in {None, one.path}]


def _homes() -> AgentHomes:
    return AgentHomes(Path.home(), os.environ)
