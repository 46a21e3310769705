"""dotnet test: VSTest, the terminal logger, and the older summary of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    Family,
    LineGrammar,
    by_counts,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "dotnet-test"

_PROJECT = LineGrammar(
    NAME,
    "!  - Failed:",
    re.compile(
        r"^(?:Passed|Failed)!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), "
        r"Skipped:\s+(?P<skipped>\d+), Total:"
    ),
)
_SKIPPED_PROJECT = LineGrammar(
    NAME,
    "Skipped! ",
    re.compile(
        r"^Skipped!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), "
        r"Skipped:\s+(?P<skipped>\d+), Total:"
    ),
)
_LOGGER = LineGrammar(
    NAME,
    "est summary: ",
    re.compile(
        r"[Tt]est summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), "
        r"skipped: (?P<skipped>\d+)"
    ),
)
_RUN = re.compile(r"^Test Run (?P<word>Successful|Failed|Aborted)\.")
_NUMBER = re.compile(r"^\s*(?P<name>Total tests|Passed|Failed|Skipped): (?P<number>\d+)$")
_SIGNS = signs(
    NAME,
    ("Failed ", r"^\s+Failed \S+ \[[^\]]*\]$", Verdict.FAILED, "failed test"),
    ("run was aborted", r"^The active test run was aborted", Verdict.ERROR, "run aborted"),
    (
        "No test is available",
        r"^No test (?:is available in|matches the given)",
        Verdict.NO_TESTS,
        "no tests found",
    ),
    (": error ", r": error [A-Z]+\d+: ", Verdict.ERROR, "build error"),
    ("Build FAILED", r"^Build FAILED\.", Verdict.ERROR, "build failed"),
    ("MSBUILD", r"^MSBUILD : error ", Verdict.ERROR, "build error"),
    ("Test run for ", r"^Test run for ", Verdict.UNKNOWN, "start without an end"),
    general=(": error ",),
)

NUMBER_LINES = 6
"""The numbers of the older summary follow its head in as many lines at most."""


def _runs(program: Program) -> bool:
    return (program.tool == "dotnet" and program.first in {"test", "vstest"}) or program.tool in {
        "vstest.console", "nunit3-console", "xunit.console",
    }  # fmt: skip


def _blocks(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("Test Run "):
        match = _RUN.match(text)
        if match is None:
            continue
        numbers: dict[str, int] = {}
        for below in range(index + 1, index + NUMBER_LINES):
            number = _NUMBER.match(output.text_at(below))
            if number is not None:
                numbers[number["name"]] = int(number["number"])
        counts = Counts(numbers.get("Passed"), numbers.get("Failed"), None, numbers.get("Skipped"))
        verdict = by_counts(counts)
        if match["word"] == "Aborted":
            verdict = Verdict.ERROR
        elif match["word"] == "Failed":
            verdict = Verdict.FAILED
        elif numbers.get("Total tests") == 0:
            verdict = Verdict.NO_TESTS
        yield Summary(NAME, verdict, counts, output.number_at(index), "dotnet: summary of the run")


FAMILY = Family(
    NAME,
    _runs,
    lambda output: [*read_all(output, _PROJECT, _SKIPPED_PROJECT, _LOGGER), *_blocks(output)],
    reader(*_SIGNS),
    lambda program: program.has("--list-tests", "-t", "--help", "-h", "--version"),
    lambda program: program.has("-q", "--quiet"),
    several=True,
    scattered=True,
    statuses={1: Verdict.FAILED},
)  # fmt: skip
