"""What a fact was good for: failed calls in the sessions that were told it, beside those that were not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import OF_THE_WAY, OF_WHAT_IS_THERE, Attempt, Outcome
from tokeneconomizer.domain.facts.lessons import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.domain.facts.life import Fact, SessionOfFacts

_FAILURES = OF_THE_WAY | OF_WHAT_IS_THERE | {Outcome.NOT_SET, Outcome.NO_TESTS}


@dataclass(frozen=True, slots=True)
class Savings:
    """
    Counted, not estimated; sessions that did nothing of the kind are left out.

    Attributes:
        sessions_with: that were told the fact at their start.
        failed_with: calls in them that failed in the way which the fact warns of.
        sessions_without, failed_without: the same of sessions that were not told it.

    """

    sessions_with: int = 0
    failed_with: int = 0
    sessions_without: int = 0
    failed_without: int = 0


def savings_of(fact: Fact, sentence: str, told: Iterable[tuple[SessionOfFacts, list[str]]]) -> Savings:
    """
    Count for one fact.

    Args:
        fact: the fact.
        sentence: how it is said; a block that holds it told it.
        told: the sessions, with the blocks that reached each.

    """
    counts = [0, 0, 0, 0]
    for session, blocks in told:
        concerned = [attempt for attempt in session.attempts() if _concerns(fact, attempt)]
        if not concerned:
            continue
        side = 0 if any(f"- {sentence}" in block.split("\n") for block in blocks) else 2
        counts[side] += 1
        counts[side + 1] += sum(attempt.outcome in _FAILURES for attempt in concerned)
    return Savings(*counts)


def _concerns(fact: Fact, attempt: Attempt) -> bool:
    lesson = fact.lesson
    if lesson.kind is Kind.PROGRAM:
        return attempt.program in {lesson.wrong.key, lesson.right.key}
    return attempt.purpose == lesson.purpose
