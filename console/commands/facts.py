"""`te facts`: what a repository taught its sessions, why it is believed, and what the next one is told."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokeneconomizer.console import output
from tokeneconomizer.console.fact_lists import ShownFact, facts_in, table_of, tables_of
from tokeneconomizer.console.state import configuration_in_force, place_of_folder, view_of
from tokeneconomizer.domain.errors import TokeneconomizerError
from tokeneconomizer.domain.facts.block import text_of
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.projections import microskill_queries as queries
from tokeneconomizer.projections import microskills
from tokeneconomizer.scheduler.control import FACT_WISHED
from tokeneconomizer.scheduler.fact_blocks import block_lines
from tokeneconomizer.scheduler.fact_policy import FactPolicy
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.sending import submit
from tokeneconomizer.scheduler.trust import AgentTrust, environment_here

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from tokeneconomizer.domain.commands import Place

repo_option = click.option(
    "--repo",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Of the repository of this folder, instead of the working folder's.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


@click.group(name="facts")
def command() -> None:
    """Show and judge what sessions found out about a repository."""


@command.command(name="list")
@repo_option
@json_option
def list_command(repo: Path, *, as_json: bool) -> None:
    """List the facts of a repository; those that the next session is told come first."""
    with _asked(repo) as (connection, place):
        facts = facts_in(connection, place, _policy())
    if as_json:
        output.print_json([fact.as_json() for fact in facts])
    elif facts:
        output.print_data(table_of(facts))
    else:
        output.say(f"no session of {place.repository} has shown anything yet: `te import` reads the history")


@command.command(name="show")
@click.argument("fact_id")
@repo_option
@json_option
def show_command(fact_id: str, repo: Path, *, as_json: bool) -> None:
    """Show one fact with its evidence, and what it was good for."""
    with _asked(repo) as (connection, place):
        fact = _fact(facts_in(connection, place, _policy()), fact_id)
    if as_json:
        output.print_json(fact.as_json())
    else:
        output.print_data(*tables_of(fact))


@command.command(name="pin")
@click.argument("fact_id")
@repo_option
def pin_command(fact_id: str, repo: Path) -> None:
    """Have a fact told, whatever sessions show."""
    _wish(fact_id, repo, pinned=True)


@command.command(name="retire")
@click.argument("fact_id")
@repo_option
def retire_command(fact_id: str, repo: Path) -> None:
    """Have a fact never told again."""
    _wish(fact_id, repo, pinned=False)


@command.command(name="block")
@repo_option
@json_option
def block_command(repo: Path, *, as_json: bool) -> None:
    """Print what the next session is told at its start, and whether it is."""
    policy = _policy()
    with _asked(repo) as (connection, place):
        block = queries.block_of(connection, place.repository)
        next_text = text_of(block_lines(connection, place.repository, policy, place.checkout))
    refusals = {host: policy.refusal(host, place) for host in HOSTS}
    if as_json:
        output.print_json(
            {
                "repository": place.repository,
                "version": block.version,
                "text": block.text,
                "next_text": next_text,
                "withheld": {host: why for host, why in refusals.items() if why},
            }
        )
        return
    text = block.text or next_text
    if text:
        click.echo(output.printable(text, keep="\n"))
    if not block.text:
        output.say("no block is rendered yet: the daemon renders one when a session is archived")
    elif next_text != block.text:
        output.say("the next block, rendered when a session is archived, will differ: see --json")
    for host, why in refusals.items():
        if why:
            output.say(f"{host}: not told, because {why}")


@contextmanager
def _asked(repo: Path) -> Iterator[tuple[sqlite3.Connection, Place]]:
    place = place_of_folder(repo)
    with view_of(Home.from_environment(), microskills) as (view, trouble):
        yield view.connection(), place
    if trouble:
        raise TokeneconomizerError(trouble)


def _policy() -> FactPolicy:
    return FactPolicy(configuration_in_force, AgentTrust(environment_here()).trusts)


def _fact(facts: list[ShownFact], fact_id: str) -> ShownFact:
    found = [fact for fact in facts if fact.fact.fact_id.startswith(fact_id)] if fact_id else []
    if len(found) == 1:
        return found[0]
    problem = f"`{fact_id}` names {len(found)} facts" if found else f"there is no fact `{fact_id}` here"
    message = f"{problem}: `te facts list` shows those of a repository"
    raise TokeneconomizerError(message)


def _wish(fact_id: str, repo: Path, *, pinned: bool) -> None:
    with _asked(repo) as (connection, place):
        fact = _fact(facts_in(connection, place, _policy()), fact_id)
    request = {
        "name": FACT_WISHED,
        "repository": place.repository,
        "fact_id": fact.fact.fact_id,
        "pinned": pinned,
    }
    submit(Home.from_environment(), request)
    output.say(f"{fact.fact.fact_id} {'pinned' if pinned else 'retired'}: {fact.sentence}")
