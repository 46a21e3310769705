"""
The checks of `te doctor`: each a small function, registered with what it looks at.

A check that breaks is itself a finding: one part that cannot be looked at must not hide the others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What a check found.

    Attributes:
        level: how bad it is.
        words: what is the case.
        advice: what to do, empty when nothing is to be done.

    """

    level: Level
    words: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """
    What the checks look at.

    Attributes:
        home: our own state.
        user_home: where agents keep theirs, unless the environment says otherwise.
        environment: the process environment.
        now: the time.

    """

    home: Home
    user_home: Path
    environment: Mapping[str, str]
    now: datetime


@dataclass(frozen=True, slots=True)
class Check:
    """
    One registered check.

    Attributes:
        name: what `te doctor` calls it.
        resources: the properties of `Home` that it looks at.
        look: finds what there is to say; no finding means that there is nothing to look at.

    """

    name: str
    resources: tuple[str, ...]
    look: Callable[[Patient], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Result:
    """A finding with the name of its check."""

    check: str
    finding: Finding

    def to_json(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {"check": self.check, **asdict(self.finding)}


def ok(words: str) -> Finding:
    """Say that all is well."""
    return Finding(Level.OK, words)


def warning(words: str, advice: str) -> Finding:
    """Say what may be wrong."""
    return Finding(Level.WARNING, words, advice)


def problem(words: str, advice: str) -> Finding:
    """Say what is wrong."""
    return Finding(Level.PROBLEM, words, advice)


def broken(error: Exception, of: str = "") -> Finding:
    """Say that something could not be looked at; `of` names what, with a colon."""
    words = f"{of}could not be looked at ({type(error).__name__}: {error})"
    return problem(words, "mend what the message names, then run `te doctor` again")


def examine(patient: Patient, checks: Iterable[Check]) -> Iterator[Result]:
    """Run the checks and return what each found."""
    for check in checks:
        try:
            for finding in check.look(patient):
                yield Result(check.name, finding)
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            yield Result(check.name, broken(error))
