"""The block that a session's start is given: the facts worth telling, one line each, within a limit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.lessons import Kind
from tokeneconomizer.domain.facts.life import Wish
from tokeneconomizer.domain.facts.limits import BLOCK_CHARACTERS
from tokeneconomizer.domain.facts.purposes import Purpose
from tokeneconomizer.domain.facts.sentences import sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tokeneconomizer.domain.facts.life import Fact

RULES_VERSION = 1
"""Grows whenever the same events come to another block."""

HEADING = (
    "[tokeneconomizer] What earlier sessions found out in this repository, from the commands that they ran:"
)

EVIDENCE_SESSIONS_MAX = 10
"""The newest ones are stored with a block; the events themselves hold all of it."""

_PURPOSES = list(Purpose)


@dataclass(frozen=True, slots=True)
class Line:
    """A fact and its sentence."""

    fact: Fact
    sentence: str


def lines_of(facts: Iterable[Fact], still_holds: Callable[[Fact], bool] = lambda _: True) -> list[Line]:
    """
    Return what may be told, the most useful first.

    Args:
        facts: of one repository.
        still_holds: whether the repository's files still bear a fact out.

    """
    told = [fact for fact in facts if fact.is_told and still_holds(fact)]
    said = ((fact, sentence_of(fact)) for fact in sorted(told, key=_usefulness))
    return [Line(fact, sentence) for fact, sentence in said if sentence]


def within_limit(lines: list[Line], characters_max: int = BLOCK_CHARACTERS) -> list[Line]:
    """Return the lines that fit into the block together with its heading, without a gap."""
    room = characters_max - len(HEADING)
    kept: list[Line] = []
    for line in lines:
        room -= len(_shown(line)) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def text_of(lines: list[Line]) -> str:
    """Return the block's text; empty where there is nothing to tell."""
    return "\n".join([HEADING, *map(_shown, lines)]) if lines else ""


def evidence_of(lines: list[Line]) -> str:
    """Return the facts of a block with their evidence as canonical JSON."""
    facts = [
        {
            "fact": line.fact.fact_id,
            "sentence": line.sentence,
            "sessions": [evidence.session for evidence in newest],
            "positions": [place for evidence in newest for place in evidence.positions],
        }
        for line in lines
        for newest in [line.fact.evidence[-EVIDENCE_SESSIONS_MAX:]]
    ]
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _shown(line: Line) -> str:
    return f"- {line.sentence}"


def _usefulness(fact: Fact) -> tuple[bool, bool, int, int, str, str]:
    """Order by what is pinned, what saves a failure, purpose, evidence, name."""
    lesson = fact.lesson
    purpose = _PURPOSES.index(Purpose(lesson.purpose)) if lesson.purpose else -1
    is_plain_use = lesson.kind is Kind.RUNS
    return (
        fact.wish != Wish.PINNED,
        is_plain_use,
        purpose if is_plain_use else 0,
        -len(fact.evidence),
        lesson.right.folder,
        fact.fact_id,
    )
