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
from tokeneconomizer.console.deny_list_lines import deny_list_lines
from tokeneconomizer.console.state import configuration_in_force, view_of
from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.log_format import AgentHomes, Wanted
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.hosts.pruning import CATALOGUE_KNOWN_FROM, TARGETS
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
    from collections.abc import Iterable

    from tokeneconomizer.console.deny_list_lines import DenyListLine
    from tokeneconomizer.domain.prune_evidence import Unit
    from tokeneconomizer.scheduler.catalogues import SeenCatalogue
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
    home, lines = Home.from_environment(), []
    if home.events.exists():
        with view_of(home, prune_evidence) as (view, _):
            lines = deny_list_lines(view.connection(), configuration_in_force(), datetime.now(UTC))
    if as_json:
        output.print_json([line.to_json() for line in lines])
    elif lines:
        headings = ("agent", "checkout", "state", "names", "minutes left", "refused")
        output.print_data(output.Table("", headings, [_status_row(line) for line in lines]))
    else:
        output.say("nothing is proposed, pending or written yet")


@click.command(name="evidence")
@HOST_OPTION
@CHECKOUT_OPTION
@JSON_OPTION
def evidence(host: str | None, checkout: Path | None, *, as_json: bool) -> None:
    """Show for each tool what went by since it was used, and what follows."""
    chosen = _chosen(_known_checkouts(), host, checkout)
    if as_json:
        output.print_json([_evidence_of(one) for one in chosen])
        return
    headings = ("tool", "verdict", "characters", "uses", "prompts since", "sessions since", "last use")
    for one in chosen:
        output.say(CATALOGUE_KNOWN_FROM[one.host])
        title = f"{one.host}{_version_of(one)} in {one.path}"
        rows = [
            [
                judged.unit.name,
                str(judged.verdict),
                _characters(judged.unit),
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
    for checkout in _known_checkouts():
        if checkout.line is not None and checkout.line.names:
            output.say(f"{checkout.host} in {checkout.path}: {', '.join(checkout.line.names)}")


@click.command(name="refresh-catalog")
@HOST_OPTION
def refresh_catalog(host: str | None) -> None:
    """Take up the tools that agents offer from their logs and files again."""
    home, user_home = Home.from_environment(), str(Path.home())
    home.create()
    with EventLog(home.events) as log, Sending(home) as sending:
        place_of = LogPlaces(user_home).of
        ground = Ground(log, Hasher(home.key()), user_home, place_of, sending.send, ask=sending.ask)
        seen = _seen_in_logs([host] if host else LOGS)
        record_catalogues(ground, seen)
        with view_of(home, prune_evidence) as (view, _):
            PruneRound(
                RoundGround(home, _homes(), configuration_in_force()), log, view, sending.ask
            ).read_configured()
    for name in [host] if host else TARGETS:
        showing = sum(1 for one in seen if one.host == name and one.tools)
        output.say(f"{name}: {CATALOGUE_KNOWN_FROM[name]} ({showing} sessions show their tools)")


def _seen_in_logs(hosts: Iterable[str]) -> list[SeenCatalogue]:
    seen = []
    for file in find(_homes(), hosts):
        catalogues = Catalogues(file.host)
        with suppress(OSError):
            for batch in LOGS[file.host].read(file, None, Wanted.ALL):
                for record in batch.records:
                    catalogues.take(record)
        seen += catalogues.seen(is_whole_log=True)
    return seen


def _known_checkouts() -> list[Checkout]:
    """Return what is known of all checkouts; none before anything was stored."""
    home = Home.from_environment()
    if not home.events.exists():
        return []
    with view_of(home, prune_evidence) as (view, _):
        state = PruneState(view.connection(), configuration_in_force(), _homes())
        return state.checkouts(datetime.now(UTC))


def _characters(unit: Unit) -> str:
    if unit.characters is None:
        return "not known"
    return f"{unit.characters:,}{' (assumed)' if unit.assumed else ''}"


def _version_of(checkout: Checkout) -> str:
    version = checkout.line.agent_version if checkout.line is not None else ""
    assumed = ", as it does by default" if checkout.is_assumed else ""
    return f"{version and ' '}{version}{assumed}"


def _status_row(line: DenyListLine) -> list[output.Cell | str]:
    left = "" if line.minutes_left is None else str(line.minutes_left)
    return [line.host, line.checkout, line.state, line.names, left, output.Cell(line.refusal, "bad")]


def _evidence_of(checkout: Checkout) -> dict[str, object]:
    tools = [
        {
            **asdict(one.silence),
            "name": one.unit.name,
            "characters": one.unit.characters,
            "assumed": one.unit.assumed,
            "verdict": one.verdict,
        }
        for one in checkout.judged
    ]
    return {
        "host": checkout.host,
        "checkout": checkout.path,
        "repository": checkout.repository,
        "mode": checkout.mode,
        "characters_saved": checkout.characters_saved,
        "catalog_assumed": checkout.is_assumed,
        "catalog_version": checkout.line.agent_version if checkout.line is not None else "",
        "tools": tools,
    }


def _chosen(checkouts: list[Checkout], host: str | None, checkout: Path | None) -> list[Checkout]:
    path = None if checkout is None else str(checkout.resolve())
    return [one for one in checkouts if host in {None, one.host} and path in {None, one.path}]


def _homes() -> AgentHomes:
    return AgentHomes(Path.home(), os.environ)
