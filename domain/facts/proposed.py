"""
Facts that a side call proposed, as far as computing them goes.

The one thing that a proposal adds is what a command is for, where its structure does not tell, and which
failure was that of the way. All else comes from what sessions ran, as for any fact.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Attempt, key_of
from tokeneconomizer.domain.facts.purposes import Purpose, purpose_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.domain.facts.ways import Heads


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    What was proposed.

    Attributes:
        purpose: what the command is for.
        command: its first words, by which it is known again.
        instead_of: those of the way that failed, or empty.

    """

    purpose: Purpose
    command: str
    instead_of: str = ""

    @property
    def pair(self) -> tuple[str, str, str]:
        """Return the purpose, and what tells both ways apart from others."""
        return self.purpose, key_of(self.instead_of), key_of(self.command)


def heads_of(proposals: Iterable[Proposal]) -> Heads:
    """Return what proposed commands are for where their structure does not tell; the first one counts."""
    heads: dict[str, Purpose] = {}
    for proposal in proposals:
        for head in (proposal.command, proposal.instead_of):
            if head and purpose_of(head.split()) is None:
                heads.setdefault(head, proposal.purpose)
    return heads


def keys_of(proposals: Iterable[Proposal]) -> frozenset[str]:
    """Return the keys of the ways that have a purpose by proposals alone."""
    return frozenset(map(key_of, heads_of(proposals)))


Streams = tuple[tuple[Attempt, ...], ...]


def without(streams: Streams, proposals: Iterable[Proposal]) -> Streams:
    """Return a session's attempts without those that only proposals gave a purpose."""
    keys = keys_of(proposals)
    return tuple(tuple(one for one in stream if one.key not in keys) for stream in streams)


def shown_as_json(shown: Iterable[tuple[int, Attempt]]) -> str:
    """Return attempts as canonical JSON."""
    values = [{"place": place, **attempt._asdict()} for place, attempt in shown]
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def shown_in(text: str) -> list[tuple[int, Attempt]]:
    """Return the attempts that were stored so."""
    found = []
    for value in json.loads(text):
        place = value.pop("place")
        found.append((place, Attempt(**{**value, "variables": tuple(value["variables"])})))
    return found
