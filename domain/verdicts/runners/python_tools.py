"""tox and nox, which run other runners; behave and Robot Framework, which have words of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    EVERY,
    Family,
    LineGrammar,
    by_counts,
    closings,
    counted_words,
    no_signs,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output

_VERSION_OR_HELP = ("--version", "--help", "-h", "-l", "--list", "--listenvs", "-a")

_TOX_SIGNS = signs(
    "tox",
    ("evaluation failed", r"^\s*evaluation failed :\(", Verdict.FAILED, "evaluation failed"),
    ("ERROR: ", r"^ERROR:\s+\S+: (?:commands|could not|InvocationError|parallel)", Verdict.FAILED, "failed"),
    (": FAIL ", r"^\s*\S+: FAIL (?:code \d+|✖)", Verdict.FAILED, "failed environment"),
    (
        "not found in",
        r"environments not found in configuration",
        Verdict.ERROR,
        "no such environment",
    ),
    ("unknown environment", r"^ERROR: unknown environment", Verdict.ERROR, "no such environment"),
    ("congratulations", r"^\s*congratulations :\)", Verdict.PASSED, "congratulations"),
    (": OK ", r"^\S+: OK ✔ in ", Verdict.UNKNOWN, "an environment is done"),
)
_NOX_SESSION = r"^nox > Session \S+(?: \(.*\))? "
_NOX_SIGNS = signs(
    "nox",
    ("nox > Session", _NOX_SESSION + r"(?:failed|aborted|raised)", Verdict.FAILED, "session failed"),
    ("nox > Sessions", r"^nox > Sessions not found", Verdict.ERROR, "no such session"),
    ("nox > Failed", r"^nox > Failed to load Noxfile", Verdict.ERROR, "no noxfile"),
    ("nox > Error", r"^nox > Error while collecting", Verdict.ERROR, "sessions not collected"),
    ("nox > Session", _NOX_SESSION + r"was successful", Verdict.PASSED, "session successful"),
)

TOX = Family(
    "tox",
    lambda program: program.tool in {"tox", "detox"},
    no_signs,
    reader(*_TOX_SIGNS),
    lambda program: (
        program.has(*_VERSION_OR_HELP, "--notest", "--showconfig")
        or program.first in {"list", "config", "devenv", "quickstart", "l", "c"}
    ),
    formats=(EVERY,),
    several=True,
    statuses={1: Verdict.FAILED},
)
NOX = Family(
    "nox",
    lambda program: program.tool == "nox",
    no_signs,
    reader(*_NOX_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP[:5], "--install-only"),
    formats=(EVERY,),
    several=True,
    statuses={1: Verdict.FAILED},
)

# behave and cucumber

_BEHAVE = re.compile(
    r"^(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed(?:, (?P<errors>\d+) error)?, "
    r"(?P<skipped>\d+) skipped"
    r"(?:, (?P<undefined>\d+) (?:undefined|untested))?$"
)
_CUCUMBER = re.compile(r"^(?P<ran>\d+) scenarios?(?: \((?P<words>[^()]*)\))?$")
_BEHAVE_CLOSINGS = closings(
    "behave", ("HOOK-ERROR in ", r"^HOOK-ERROR in ", Verdict.ERROR, "error in a hook")
)
_BEHAVE_SIGNS = signs(
    "behave",
    ("Failing scenarios:", r"^Failing scenarios:$", Verdict.FAILED, "list of failing scenarios"),
    ("ConfigError", r"^(?:ConfigError|ParserError|No steps directory)", Verdict.ERROR, "did not start"),
)


def _behave_summaries(output: Output) -> list[Summary]:
    return [*_scenarios(output), *_cucumber(output), *read_all(output, *_BEHAVE_CLOSINGS)]


def _scenarios(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" passed, "):
        match = _BEHAVE.match(text)
        if match is not None:
            errors = int(match["errors"]) if match["errors"] else None
            counts = Counts(int(match["passed"]), int(match["failed"]), errors, int(match["skipped"]))
            yield Summary(
                "behave", by_counts(counts), counts, output.number_at(index), "behave: line of scenarios"
            )


def _cucumber(output: Output) -> Iterator[Summary]:
    for index, text in output.containing(" scenario"):
        match = _CUCUMBER.match(text)
        if match is None:
            continue
        numbers = counted_words(match["words"] or "")
        red = numbers.get("failed", 0) + numbers.get("undefined", 0) + numbers.get("ambiguous", 0)
        counts = Counts(numbers.get("passed"), red or None, None, numbers.get("skipped"))
        verdict = by_counts(counts, ran=numbers.get("passed", 0) + (counts.skipped or 0))
        yield Summary("cucumber", verdict, counts, output.number_at(index), "cucumber: line of scenarios")


BEHAVE = Family(
    "behave",
    lambda program: program.tool in {"behave", "cucumber", "cucumber-js", "lettuce"},
    _behave_summaries,
    reader(*_BEHAVE_SIGNS),
    lambda program: program.has("--version", "--help", "-h", "--dry-run", "-d", "--steps-catalog"),
    statuses={1: Verdict.FAILED},
)

# Robot Framework prints a line of counts per suite; the outermost is the last

_ROBOT = LineGrammar(
    "robot",
    " passed, ",
    re.compile(
        r"^\d+ (?:tests?|tasks?), (?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, "
        r"(?P<skipped>\d+) skipped)?$"
    ),
)
_ROBOT_SIGNS = signs(
    "robot",
    ("| FAIL |", r"\| FAIL \|$", Verdict.FAILED, "failed test"),
    ("[ ERROR ]", r"^\[ ERROR \] .*(?:contains no tests|no tests)", Verdict.NO_TESTS, "no tests"),
    ("[ ERROR ] ", r"^\[ ERROR \] (?!.*no tests)", Verdict.ERROR, "did not start"),
)
ROBOT = Family(
    "robot",
    lambda program: program.tool in {"robot", "pabot", "robot.run"},
    reader(_ROBOT),
    reader(*_ROBOT_SIGNS),
    lambda program: program.has("--version", "--help", "-h", "-?", "--dryrun"),
    statuses=dict.fromkeys(range(1, 251), Verdict.FAILED) | {252: Verdict.ERROR, 255: Verdict.ERROR},
)

FAMILIES = (TOX, NOX, BEHAVE, ROBOT)
