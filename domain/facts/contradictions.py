"""What in a session speaks against a lesson: the wrong way worked, or the right one failed as a way."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import OF_THE_WAY, Outcome
from tokeneconomizer.domain.facts.lessons import Kind
from tokeneconomizer.domain.facts.purposes import Purpose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.facts.attempts import Attempt
    from tokeneconomizer.domain.facts.lessons import Lesson, Side

_OF_A_WAY_ALONE = frozenset({Outcome.NO_PROGRAM, Outcome.NO_SCRIPT})
"""Missing modules and files are as often the work's own fault, or those of a fresh checkout."""


class Against:
    """Whether a session speaks against a lesson."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        self._attempts = attempts
        self._outcomes: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._programs: dict[str, set[str]] = defaultdict(set)
        for attempt in attempts:
            self._outcomes[attempt.purpose, attempt.key, attempt.folder].add(attempt.outcome)
            self._programs[attempt.program].add(attempt.outcome)

    def speaks_against(self, lesson: Lesson) -> bool:
        """Return whether the wrong way worked here, or the right one failed as a way and never worked."""
        checks: dict[Kind, Callable[[Lesson], bool]] = {
            Kind.PROGRAM: self._of_program,
            Kind.OPTION: self._of_option,
            Kind.VARIABLE: self._of_variable,
            Kind.AFTER: self._of_preparation,
            Kind.RUNS: lambda one: self._fails(self._of(one.purpose, one.right), _OF_A_WAY_ALONE),
        }
        return checks.get(lesson.kind, self._of_way)(lesson)

    def _of_way(self, lesson: Lesson) -> bool:
        wrong, right = (self._of(lesson.purpose, side) for side in (lesson.wrong, lesson.right))
        return self._works(wrong) or self._fails(right, OF_THE_WAY)

    def _of_program(self, lesson: Lesson) -> bool:
        wrong, right = (self._programs[side.key] for side in (lesson.wrong, lesson.right))
        return self._works(wrong) or self._fails(right, frozenset({Outcome.NO_PROGRAM}))

    def _of_preparation(self, lesson: Lesson) -> bool:
        prepared = self._of(Purpose.SETUP, lesson.right) | self._of(Purpose.SERVICE, lesson.right)
        return self._fails(prepared, OF_THE_WAY)

    def _of(self, purpose: str, side: Side) -> set[str]:
        return self._outcomes[purpose, side.key, side.folder]

    @staticmethod
    def _works(outcomes: set[str]) -> bool:
        return Outcome.WORKED in outcomes

    @staticmethod
    def _fails(outcomes: set[str], kinds: frozenset[Outcome]) -> bool:
        return Outcome.WORKED not in outcomes and not kinds.isdisjoint(outcomes)

    def _of_option(self, lesson: Lesson) -> bool:
        by_text: dict[str, set[str]] = defaultdict(set)
        for attempt in self._attempts:
            if attempt.purpose == lesson.purpose and attempt.folder == lesson.right.folder:
                by_text[attempt.text].add(attempt.outcome)
        return self._works(by_text[lesson.wrong.key]) or self._fails(
            by_text[lesson.right.key], frozenset({Outcome.BAD_OPTION, Outcome.NO_PROGRAM})
        )

    def _of_variable(self, lesson: Lesson) -> bool:
        outcomes: dict[bool, set[str]] = {True: set(), False: set()}
        for attempt in self._attempts:
            side = lesson.wrong
            if (attempt.purpose, attempt.key, attempt.folder) == (lesson.purpose, side.key, side.folder):
                outcomes[set(lesson.variables).issubset(attempt.variables)].add(attempt.outcome)
        return self._works(outcomes[False]) or self._fails(outcomes[True], OF_THE_WAY | {Outcome.NOT_SET})
