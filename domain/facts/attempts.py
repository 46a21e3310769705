"""
What became of a way: it worked, its own kind of failure came, or neither can be told.

A failure teaches only where it is one of the way itself: a missing program, a wrong option, a wrong folder.
A test that failed or code that does not compile says nothing about how to run it.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.facts.purposes import Purpose

if TYPE_CHECKING:
    from tokeneconomizer.domain.facts.ways import Way

NOT_FOUND_EXIT, NOT_RUNNABLE_EXIT = 127, 126
"""What shells give when a program is not there, or is none."""


class Outcome(StrEnum):
    """How a way went."""

    WORKED = "worked"
    NO_PROGRAM = "no_program"
    NO_SCRIPT = "no_script"
    NO_MODULE = "no_module"
    NO_SERVICE = "no_service"
    NO_FILE = "no_file"
    NO_TESTS = "no_tests"
    BAD_OPTION = "bad_option"
    NO_NETWORK = "no_network"
    NOT_SET = "not_set"
    FAILED = "failed"


OF_THE_WAY = frozenset(
    {Outcome.NO_PROGRAM, Outcome.NO_SCRIPT, Outcome.NO_MODULE, Outcome.NO_FILE, Outcome.BAD_OPTION}
)
"""Failures for which another way is the remedy."""

OF_WHAT_IS_THERE = frozenset({Outcome.NO_MODULE, Outcome.NO_SERVICE, Outcome.NO_PROGRAM})
"""Failures for which an installation or a service is the remedy."""

_PHRASES = (
    (Outcome.NO_SCRIPT, ("missing script",)),
    (Outcome.NO_PROGRAM, ("command not found",)),
    (
        Outcome.NO_MODULE,
        (
            "cannot find module",
            "module not found",
            "no module named",
            "cannot find package",
            "ModuleNotFoundError",
        ),
    ),
    (
        Outcome.BAD_OPTION,
        ("unknown option", "unrecognized option", "unrecognized arguments", "invalid option"),
    ),
    (Outcome.NO_SERVICE, ("ECONNREFUSED", "connection refused")),
    (
        Outcome.NO_NETWORK,
        ("could not resolve host", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "connection reset", "timed out"),
    ),
    (Outcome.NO_TESTS, ("no tests ran", "no tests found")),
    (Outcome.NOT_SET, ("ImproperlyConfigured", "KeyError")),
    (Outcome.NO_FILE, ("no such file or directory", "file does not exist", "path does not exist", "ENOENT")),
)
"""What the stored words of a failure say, the more telling ones first."""

HEADS_KEPT = 1_024
"""A repository has a few dozen."""

SIGNATURES_KEPT = 1_024
"""Failures are told in words of a closed list: there are hundreds of combinations, not thousands."""

_RUN_IS_OPTIONAL = frozenset({"npm", "pnpm", "yarn", "bun"})
_RUN = frozenset({"run", "run-script"})

_RAN_VERDICTS = frozenset({"passed", "failed"})
_RED_VERDICTS = frozenset({"failed", "error", "no_tests"})


class Attempt(NamedTuple):
    """
    A way that was taken in a session, with what became of it.

    A named tuple, because one is made for each in a rebuild: a frozen dataclass takes four times as long.

    Attributes:
        position: of its result in the event log.
        turn: the number of its turn.
        key: tells ways apart that differ in no more than spelling.
        folder: as seen from the checkout; empty for the checkout itself.
        edits: how many calls of the session had written files before.
        purpose, head, text, is_whole, rest, script, variables: as of the way; an empty purpose for none.

    """

    position: int
    turn: int
    purpose: str
    head: str
    key: str
    text: str
    is_whole: bool
    rest: str
    script: str
    folder: str
    variables: tuple[str, ...]
    outcome: str
    duration_ms: int | None
    edits: int

    @property
    def worked(self) -> bool:
        """Whether it did what it is for."""
        return self.outcome == Outcome.WORKED

    @property
    def program(self) -> str:
        """The first word: what has to be installed."""
        return self.head.partition(" ")[0]


class Result(NamedTuple):
    """
    What is stored of a call's result; the names are those of `session.tool_returned`.

    Attributes:
        status: `ok`, `failed` or `never_ran`.

    """

    status: str
    exit_code: int | None
    signature: str
    verdict: str | None
    interrupted: bool = False
    background: bool = False


@lru_cache(maxsize=HEADS_KEPT)
def key_of(head: str) -> str:
    """Return a head in the one spelling of several that mean the same."""
    words = head.removeprefix("./").split()
    if len(words) > 2 and words[0] in _RUN_IS_OPTIONAL and words[1] in _RUN:  # noqa: PLR2004 - `npm run x`
        del words[1]
    return " ".join(words)


def outcome_of(way: Way, result: Result) -> Outcome | None:
    """Return how a way of a line went; None where it cannot be told."""
    if result.status == "never_ran" or result.interrupted:
        return None
    if way.purpose is Purpose.TEST and result.verdict == "passed":
        return Outcome.WORKED
    if result.status == "ok":
        return _of_success(way, result)
    return _of_failure(result) if way.is_alone else None


def _of_success(way: Way, result: Result) -> Outcome | None:
    # In the background nothing has ended yet: only what is started to run on has come to what it is for.
    if result.background and way.purpose not in {Purpose.START, Purpose.SERVICE}:
        return None
    if not way.is_proven and not result.background:
        return None
    if way.purpose is Purpose.TEST and result.verdict in _RED_VERDICTS:
        return None
    return Outcome.WORKED


def _of_failure(result: Result) -> Outcome:
    if result.verdict in _RAN_VERDICTS:
        # The tests ran: the way is right.
        return Outcome.FAILED
    if result.exit_code in {NOT_FOUND_EXIT, NOT_RUNNABLE_EXIT}:
        return Outcome.NO_PROGRAM
    said = _said_by(result.signature)
    if said is None:
        return Outcome.NO_TESTS if result.verdict == "no_tests" else Outcome.FAILED
    return said


# The same failure comes again and again.
@lru_cache(maxsize=SIGNATURES_KEPT)
def _said_by(signature: str) -> Outcome | None:
    words = {word.strip() for word in signature.split(",")}
    return next((outcome for outcome, phrases in _PHRASES if not words.isdisjoint(phrases)), None)
