"""
What one session found out: this way failed, that way then worked for the same purpose.

Looked for in the attempts of one stream, in their order. What two attempts have in common and in what they
differ decides what is learnt; nothing where files were edited in between, which could have mended it.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import OF_THE_WAY, OF_WHAT_IS_THERE, Outcome
from tokeneconomizer.domain.facts.purposes import Purpose
from tokeneconomizer.domain.facts.ways import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokeneconomizer.domain.facts.attempts import Attempt

ATTEMPTS_BETWEEN_MAX = 10
"""What works later than that was hardly looked for because of the failure."""

PREPARING = frozenset({Purpose.SETUP, Purpose.SERVICE})


class Kind(StrEnum):
    """In what the way that worked differs from the one that failed."""

    PROGRAM = "program"
    WAY = "way"
    OPTION = "option"
    FOLDER = "folder"
    VARIABLE = "variable"
    AFTER = "after"
    SERVICE = "service"
    """Nothing was found that helps; it is worth to know before."""
    RUNS = "runs"
    """No difference: a way that simply works."""


@dataclass(frozen=True, slots=True)
class Side:
    """
    One of the two ways of a lesson.

    Attributes:
        text: what is said of it.
        key: tells it apart.
        folder: as seen from the checkout.

    """

    text: str
    key: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """
    Something that a session found out.

    Attributes:
        failure: the outcome of the wrong way.
        variables: those that the right way sets beyond the wrong one.

    """

    kind: Kind
    purpose: str
    wrong: Side
    right: Side
    failure: str
    variables: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, ...]:
        """Return what makes it the same lesson as one of another session."""
        wrong, right = self.wrong, self.right
        sides = (wrong.key, wrong.folder, right.key, right.folder)
        return (self.kind, self.purpose, *sides, *self.variables)


Pairs = AbstractSet[tuple[str, str, str]]
"""Purposes with the keys of two ways, of which a proposal says that the first failed as a way."""

NO_PAIRS: Pairs = frozenset()


def lessons_in(
    attempts: Sequence[Attempt], pairs: Pairs = NO_PAIRS
) -> Iterator[tuple[Lesson, Attempt, Attempt]]:
    """Yield what the attempts of one stream teach, with the attempt that failed and the one that worked."""
    for place, failed in enumerate(attempts):
        if failed.worked:
            continue
        following = attempts[place + 1 : place + 1 + ATTEMPTS_BETWEEN_MAX]
        found = _remedy(failed, following, pairs)
        if found is not None:
            yield found[0], failed, found[1]


def _remedy(failed: Attempt, following: Sequence[Attempt], pairs: Pairs) -> tuple[Lesson, Attempt] | None:
    prepared: Attempt | None = None
    for later in following:
        if not later.worked:
            continue
        if later.purpose in PREPARING and failed.purpose not in PREPARING:
            prepared = prepared or later
            continue
        if prepared is not None:
            if _is_same_way(failed, later):
                lesson = _after(failed, prepared)
                return (lesson, later) if lesson else None
            continue
        lesson = _difference(failed, later, pairs)
        if lesson is not None:
            return lesson, later
        if _is_same_way(failed, later):
            # It came to work by itself.
            return None
    if failed.outcome == Outcome.NO_SERVICE and failed.purpose:
        lesson = Lesson(Kind.SERVICE, failed.purpose, _short(failed), Side("", ""), failed.outcome)
        return lesson, failed
    return None


def _is_same_way(one: Attempt, other: Attempt) -> bool:
    return bool(one.purpose) and (one.purpose, one.key, one.folder) == (
        other.purpose,
        other.key,
        other.folder,
    )


def _after(failed: Attempt, prepared: Attempt) -> Lesson | None:
    """Return the lesson of a way that works once something was installed or started."""
    wanted = Purpose.SERVICE if failed.outcome == Outcome.NO_SERVICE else Purpose.SETUP
    if failed.outcome not in OF_WHAT_IS_THERE or prepared.purpose != wanted or not prepared.is_whole:
        return None
    right = Side(prepared.text, prepared.key, prepared.folder)
    return Lesson(Kind.AFTER, failed.purpose, _short(failed), right, failed.outcome)


def _difference(failed: Attempt, later: Attempt, pairs: Pairs) -> Lesson | None:
    other_program = _other_program(failed, later)
    if other_program or not failed.purpose or failed.purpose != later.purpose:
        return other_program
    if failed.key == later.key:
        return _same_way_changed(failed, later)
    return _other_way(failed, later, pairs) if failed.folder == later.folder else None


def _other_program(failed: Attempt, later: Attempt) -> Lesson | None:
    """Return the lesson of a program that is not there, and of one of its family that did just the same."""
    wrong, right = failed.program, later.program
    family = FAMILIES.get(wrong)
    if failed.outcome != Outcome.NO_PROGRAM or family is None or wrong == right:
        return None
    if family != FAMILIES.get(right) or not failed.rest or failed.rest != later.rest:
        return None
    return Lesson(Kind.PROGRAM, "", Side(wrong, wrong), Side(right, right), failed.outcome)


def _other_way(failed: Attempt, later: Attempt, pairs: Pairs) -> Lesson | None:
    is_other_manager = (
        failed.purpose == Purpose.SETUP
        and failed.outcome == Outcome.FAILED
        and failed.program != later.program
        and failed.edits == later.edits
    )
    # A test that failed stays no lesson, whoever says so.
    is_proposed = (
        (failed.purpose, failed.key, later.key) in pairs
        and failed.purpose != Purpose.TEST
        and failed.outcome == Outcome.FAILED
        and failed.edits == later.edits
    )
    may_have_been_mended = failed.outcome != Outcome.NO_PROGRAM and failed.edits != later.edits
    if (
        not is_other_manager
        and not is_proposed
        and (failed.outcome not in OF_THE_WAY or may_have_been_mended)
    ):
        return None
    if failed.outcome == Outcome.NO_FILE:
        # As often a file that was misspelt.
        return None
    return Lesson(Kind.WAY, failed.purpose, _short(failed), _short(later), failed.outcome)


def _same_way_changed(failed: Attempt, later: Attempt) -> Lesson | None:
    added = tuple(name for name in later.variables if name not in failed.variables)
    if failed.folder != later.folder:
        is_of_place = failed.outcome in {
            Outcome.NO_FILE,
            Outcome.NO_SCRIPT,
            Outcome.NO_TESTS,
            Outcome.NO_PROGRAM,
        }
        # From a folder below to the one above: the shell had stayed where it was.
        if not is_of_place or added or failed.folder.startswith(f"{later.folder}/") or failed.folder:
            return None
        return Lesson(Kind.FOLDER, failed.purpose, _short(failed), _short(later), failed.outcome)
    if failed.edits != later.edits:
        return None
    if added and _without_variables(failed) == _without_variables(later):
        return _needs_variable(failed, later, added)
    if failed.outcome == Outcome.BAD_OPTION and failed.text != later.text and not added:
        wrong = Side(failed.text, failed.text, failed.folder)
        right = Side(later.text, later.text, later.folder)
        return Lesson(Kind.OPTION, failed.purpose, wrong, right, failed.outcome)
    return None


def _needs_variable(failed: Attempt, later: Attempt, added: tuple[str, ...]) -> Lesson | None:
    if failed.outcome in {Outcome.NO_NETWORK, Outcome.NO_TESTS, Outcome.BAD_OPTION, Outcome.NO_FILE}:
        return None
    return Lesson(Kind.VARIABLE, failed.purpose, _short(failed), _short(later), failed.outcome, added)


def _without_variables(attempt: Attempt) -> tuple[str, str]:
    return attempt.head, attempt.rest


def _short(attempt: Attempt) -> Side:
    return Side(attempt.head, attempt.key, attempt.folder)
