"""What the calls of one stream show, one result after the other: attempts, and where its shell stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Attempt, Outcome, Result, key_of, outcome_of
from tokeneconomizer.domain.facts.folders import joined, within
from tokeneconomizer.domain.facts.ways import NO_HEADS, folder_after, ways_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.facts.ways import Heads, Way

HOSTS_WHOSE_SHELL_STAYS = frozenset({"claude_code"})
"""A `cd` of the main agent holds for its later calls; a sub-agent's, and other agents', begin anew."""

PROGRAMS_KEPT = 8
"""More than there are families of programs that take each other's place."""

LINES_KEPT = 4_096
"""Agents type the same lines again and again; so many take some megabytes."""


@dataclass(slots=True)
class Watched:
    """
    What has to be known of a stream to take its next result.

    Attributes:
        checkout: the folder that its folders are seen from.
        stays: whether a `cd` holds for later calls.
        folder: where its shell stands; empty for the checkout.
        edits: how many calls wrote files.
        lacks: whether a program was not found: whatever works from then on may stand in for it.
        programs: those without a purpose that worked, each stored once.

    """

    checkout: str
    stays: bool
    folder: str = ""
    edits: int = 0
    lacks: bool = False
    programs: str = ""


def stays_in_folder(host: str, agent_id: str) -> bool:
    """Return whether a `cd` of a stream holds for its later calls."""
    return host in HOSTS_WHOSE_SHELL_STAYS and not agent_id


def attempts_in(
    watched: Watched,
    position: int,
    data: Mapping[str, object],
    command: str,
    heads: Heads = NO_HEADS,
    *,
    background: bool = False,
) -> list[tuple[int, Attempt]]:
    """
    Return what a shell call's result shows, each with its place in the line, and move the shell on.

    Args:
        watched: its stream.
        position: of the result in the event log.
        data: the fields of its `session.tool_returned`.
        command: the redacted line.
        heads: what else has a purpose in the repository.
        background: whether the call was left to run on.

    """
    ways, goes_to = _read(command)
    if heads:
        ways = tuple(ways_in(command, heads))
    found: list[tuple[int, Attempt]] = []
    if ways:
        result = result_of(data, background=background)
        for place, way in enumerate(ways):
            attempt = _attempt(watched, position, data, way, outcome_of(way, result))
            if attempt is not None and _teaches(watched, attempt):
                found.append((place, attempt))
    if goes_to is not None and watched.stays:
        # Where a line failed its `cd` may be what failed.
        watched.folder = "?" if data["status"] == "failed" else joined(watched.folder, goes_to)
    return found


@lru_cache(maxsize=LINES_KEPT)
def _read(command: str) -> tuple[tuple[Way, ...], str | None]:
    """Return the ways of a line, and where it goes."""
    return tuple(ways_in(command)), folder_after(command)


def result_of(data: Mapping[str, object], *, background: bool) -> Result:
    """Return what is stored of a call's result."""
    exit_code, verdict = data["exit_code"], data["verdict"]
    return Result(
        str(data["status"]),
        exit_code if isinstance(exit_code, int) else None,
        str(data["signature"]),
        None if verdict is None else str(verdict),
        bool(data["interrupted"]),
        background,
    )


def _attempt(
    watched: Watched, position: int, data: Mapping[str, object], way: Way, outcome: Outcome | None
) -> Attempt | None:
    """Return the attempt; None where it was not made in the repository, or where that cannot be told."""
    if outcome is None:
        return None
    folder = within(joined(watched.folder, way.folder) if way.folder else watched.folder, watched.checkout)
    if folder is None:
        return None
    duration_ms, turn = data["duration_ms"], data["turn"]
    return Attempt(
        position=position,
        turn=turn if isinstance(turn, int) else 0,
        purpose=way.purpose or "",
        head=way.head,
        key=key_of(way.head),
        text=way.text,
        is_whole=way.is_whole,
        rest=way.rest,
        script=way.script,
        folder=folder,
        variables=way.variables,
        outcome=outcome,
        duration_ms=duration_ms if isinstance(duration_ms, int) else None,
        edits=watched.edits,
    )


def _teaches(watched: Watched, attempt: Attempt) -> bool:
    """Return whether an attempt is kept; without a purpose only what may stand in for a missing program."""
    is_missing = attempt.outcome == Outcome.NO_PROGRAM
    watched.lacks = watched.lacks or is_missing
    if attempt.purpose or is_missing:
        return True
    known = watched.programs.split()
    if not attempt.worked or (attempt.program in known and not watched.lacks):
        return False
    watched.programs = " ".join(dict.fromkeys([*known, attempt.program][:PROGRAMS_KEPT]))
    return True
