"""What `te facts` shows: the facts of a repository with their evidence, and what they were good for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.console.output import Cell, Table, local_time
from tokeneconomizer.domain.facts.block import lines_of
from tokeneconomizer.domain.facts.savings import Savings, savings_of
from tokeneconomizer.domain.facts.sentences import sentence_of
from tokeneconomizer.domain.facts.standing import still_holds
from tokeneconomizer.projections import microskill_queries as queries
from tokeneconomizer.scheduler.checkout_files import reader_of

if TYPE_CHECKING:
    import sqlite3

    from tokeneconomizer.domain.commands import Place
    from tokeneconomizer.domain.facts.life import Fact
    from tokeneconomizer.scheduler.fact_policy import FactPolicy

NOT_SAID = "(not plain enough to be said)"

_MEANINGS = {"confirmed": "good", "retired": "quiet", "revised": "quiet"}


@dataclass(frozen=True, slots=True)
class ShownFact:
    """
    A fact, ready to be shown.

    Attributes:
        sentence: empty where something in it is not plain enough to be said.
        is_told: whether the next block may hold it.
        savings: what it was good for.
        proposed_by: the event that proposed it, where a side call did.

    """

    fact: Fact
    sentence: str
    is_told: bool
    savings: Savings
    proposed_by: int | None = None

    def as_json(self) -> dict[str, object]:
        """Return all there is to say of it."""
        fact = self.fact
        return {
            "id": fact.fact_id,
            "sentence": self.sentence,
            "kind": fact.lesson.kind.value,
            "purpose": fact.lesson.purpose,
            "state": fact.state.value,
            "reason": fact.reason,
            "wish": fact.wish,
            "told": self.is_told,
            "proposed": fact.is_proposed,
            "proposed_by": self.proposed_by,
            "evidence": [asdict(evidence) for evidence in fact.evidence],
            "contradicted_by": list(fact.contradicted_by),
            "savings": asdict(self.savings),
        }


def facts_in(connection: sqlite3.Connection, place: Place, policy: FactPolicy) -> list[ShownFact]:
    """Return the facts of a repository; those that are told first, in the block's order."""
    facts = queries.facts_in(connection, place.repository, with_proposals=True)
    proposed = queries.proposed_in(connection, place.repository)
    if policy.takes_proposals(place.repository):
        tellable = facts
    else:
        tellable = queries.facts_in(connection, place.repository, with_proposals=False)
    read = reader_of([place.checkout])
    lines = lines_of(tellable, (lambda fact: still_holds(fact, read)) if read else lambda _: True)
    order = {line.fact.fact_id: number for number, line in enumerate(lines)}
    told = queries.told(connection, queries.sessions_of(connection, place.repository))
    shown = []
    for fact in facts:
        sentence = sentence_of(fact) or ""
        savings = savings_of(fact, sentence, told)
        is_told = fact.fact_id in order
        shown.append(ShownFact(fact, sentence, is_told, savings, proposed.get(fact.fact_id)))
    return sorted(shown, key=lambda one: (order.get(one.fact.fact_id, len(order)), one.fact.fact_id))


def table_of(facts: list[ShownFact]) -> Table:
    """Return the facts as a table."""
    rows = [
        [
            one.fact.fact_id,
            Cell(one.fact.state.value, _MEANINGS.get(one.fact.state.value, "doubtful")),
            one.fact.wish,
            "proposed" if one.fact.is_proposed else "learnt",
            "yes" if one.is_told else "no",
            str(len(one.fact.evidence)),
            one.sentence or Cell(NOT_SAID, "quiet"),
        ]
        for one in facts
    ]
    return Table("", ("fact", "state", "user", "source", "told", "sessions", "what it says"), rows)


def tables_of(one: ShownFact) -> list[Table]:
    """Return one fact with its evidence, and what it was good for."""
    fact, savings = one.fact, one.savings
    about = [
        ["fact", fact.fact_id],
        ["what it says", one.sentence or NOT_SAID],
        ["state", f"{fact.state.value}{f': {fact.reason}' if fact.reason else ''}"],
        ["user", fact.wish or "said nothing"],
        ["source", _source(one)],
        ["told", "yes" if one.is_told else "no"],
        ["contradicted by", ", ".join(fact.contradicted_by) or "no session"],
        ["failed calls when told", _rate(savings.failed_with, savings.sessions_with)],
        ["failed calls when not told", _rate(savings.failed_without, savings.sessions_without)],
    ]
    evidence = [
        [local_time(seen.started_at), seen.session, ", ".join(map(str, seen.positions))]
        for seen in fact.evidence
    ]
    return [Table("", (), about), Table("Evidence", ("session began", "session", "events"), evidence)]


def _source(one: ShownFact) -> str:
    if one.proposed_by is not None:
        return f"proposed by a side call, event {one.proposed_by}"
    return (
        "follows from what a side call proposed" if one.fact.is_proposed else "learnt from what sessions ran"
    )


def _rate(failed: int, sessions: int) -> str:
    return f"{failed} in {sessions} sessions" if sessions else "no session yet"
