"""Smaller runners of JavaScript: Jasmine, uvu, QUnit; and those of bun and Deno."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    Family,
    LineGrammar,
    by_counts,
    closings,
    no_signs,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output

_VERSION_OR_HELP = ("--version", "--help", "-h", "-v", "-V")


# Jasmine

_JASMINE_GREEN = LineGrammar(
    "jasmine", " spec", re.compile(r"^(?P<passed>\d+) specs?, (?P<failed>0) failures$")
)
_JASMINE = LineGrammar(
    "jasmine",
    " spec",
    re.compile(
        r"^(?P<ran>\d+) specs?, (?P<failed>\d+) failures?(?:(?<! 0 failures)|, (?P<skipped>\d+) "
        r"pending specs?)$"
    ),
)
_JASMINE_CLOSINGS = closings(
    "jasmine", ("No specs found", r"^No specs found", Verdict.NO_TESTS, "no specs found")
)
_JASMINE_SIGNS = signs(
    "jasmine",
    ("Failures:", r"^Failures:$", Verdict.FAILED, "list of failures"),
    ("Randomized", r"^Randomized with seed \d+$", Verdict.UNKNOWN, "start without an end"),
    ("Suite error:", r"^Suite error:", Verdict.ERROR, "suite error"),
    ("Error during loading", r"^Error during loading", Verdict.ERROR, "file not loaded"),
    general=("Failures:",),
)


def _jasmine_summaries(output: Output) -> list[Summary]:
    return read_all(output, _JASMINE_GREEN, _JASMINE, *_JASMINE_CLOSINGS)


JASMINE = Family(
    "jasmine",
    lambda program: program.tool in {"jasmine", "jasmine-browser-runner", "jasmine-ts"},
    _jasmine_summaries,
    reader(*_JASMINE_SIGNS),
    lambda program: (
        program.has(*_VERSION_OR_HELP) or program.first in {"init", "examples", "version", "help"}
    ),
    formats=("tap",),
    statuses={2: Verdict.NO_TESTS, 3: Verdict.FAILED},
)

# uvu

_UVU = re.compile(r"^\s+(?P<name>Total|Passed|Skipped):\s+(?P<number>\d+)$")


def _uvu_summaries(output: Output) -> list[Summary]:
    found: list[Summary] = []
    numbers: dict[str, int] = {}
    for index, text in output.containing("  Total:", "  Passed:", "  Skipped:"):
        match = _UVU.match(text)
        if match is None:
            continue
        if match["name"] == "Total":
            numbers = {}
        numbers[match["name"]] = int(match["number"])
        if match["name"] == "Skipped" and {"Total", "Passed"} <= numbers.keys():
            red = numbers["Total"] - numbers["Passed"]
            counts = Counts(numbers["Passed"], red or None, None, numbers["Skipped"])
            found.append(
                Summary("uvu", by_counts(counts), counts, output.number_at(index), "uvu: summary lines")
            )
            numbers = {}
        elif match["name"] == "Skipped" and "Passed" in numbers:
            counts = Counts(numbers["Passed"], None, None, numbers["Skipped"])
            number = output.number_at(index)
            found.append(Summary("uvu", Verdict.UNKNOWN, counts, number, "uvu: total is cut", final=False))
    return found


_UVU_SIGNS = signs("uvu", ("FAIL ", r"^\s+FAIL\s+\S", Verdict.FAILED, "failed test"))

UVU = Family(
    "uvu",
    lambda program: program.tool == "uvu",
    _uvu_summaries,
    reader(*_UVU_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP),
)

# bun

_BUN = re.compile(r"^\s*(?P<number>\d+) (?P<word>pass|fail|skip|todo|errors?|filtered out)$")
_BUN_END = re.compile(r"^Ran (?P<ran>\d+) tests? across \d+ files?\.")
_BUN_CLOSINGS = closings("bun", ("No tests found!", r"^No tests found!", Verdict.NO_TESTS, "no tests found"))
_BUN_SIGNS = signs(
    "bun",
    ("(fail) ", r"^\(fail\) .*\[\d", Verdict.FAILED, "failed test"),
    ("did not match", r"^error: .*did not match any test files", Verdict.ERROR, "no such test file"),
    ("bun test v", r"^bun test v\d", Verdict.UNKNOWN, "start without an end"),
)


def _bun_summaries(output: Output) -> list[Summary]:
    return [*_bun_blocks(output), *read_all(output, *_BUN_CLOSINGS)]


def _bun_blocks(output: Output) -> Iterator[Summary]:
    for index, text in output.containing("Ran "):
        match_end = _BUN_END.match(text)
        if match_end is None:
            continue
        numbers: dict[str, int] = {}
        for above in range(index - 1, index - 10, -1):
            match = _BUN.match(output.text_at(above))
            if match is not None:
                numbers[match["word"].removesuffix("s") if match["word"] != "pass" else "pass"] = int(
                    match["number"]
                )
        errors = numbers.get("error")
        failed = numbers.get("fail")
        counts = Counts(numbers.get("pass"), failed, errors, numbers.get("skip"))
        only_errors = bool(errors) and (failed or 0) <= (errors or 0)
        if "fail" not in numbers:
            continue
        ran = numbers.get("pass", int(match_end["ran"]))
        green = Verdict.PASSED if ran else Verdict.NO_TESTS
        verdict = Verdict.ERROR if only_errors else Verdict.FAILED if failed else green
        yield Summary("bun", verdict, counts, output.number_at(index), "bun: summary lines")


BUN = Family(
    "bun",
    lambda program: program.tool == "bun" and program.first == "test",
    _bun_summaries,
    reader(*_BUN_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP[:3]),
    scattered=True,
    statuses={1: Verdict.FAILED},
)

# Deno

_DENO = re.compile(
    r"^(?P<word>ok|FAILED) \| (?P<passed>\d+) passed(?: \(\d+ steps?\))? \| (?P<failed>\d+) "
    r"failed(?: \(\d+ steps?\))?"
    r"(?: \| (?P<skipped>\d+) ignored)?"
)
_DENO_CLOSINGS = closings(
    "deno", ("No test modules found", r"^error: No test modules found", Verdict.NO_TESTS, "no tests found")
)
_DENO_SIGNS = signs(
    "deno",
    (" ... FAILED", r" \.\.\. FAILED \(", Verdict.FAILED, "failed test"),
    ("Type checking failed", r"^error: Type checking failed", Verdict.ERROR, "type checking failed"),
    ("error: ", r"^error: (?!Test failed)", Verdict.ERROR, "did not start"),
    general=("error: ", " ... FAILED"),
)


def _deno_summaries(output: Output) -> list[Summary]:
    found = []
    for index, text in output.containing(" passed"):
        match = _DENO.match(text)
        if match is None:
            continue
        skipped = int(match["skipped"]) if match["skipped"] else None
        counts = Counts(int(match["passed"]), int(match["failed"]), None, skipped)
        verdict = by_counts(counts)
        if match["word"] == "FAILED":
            uncaught = (
                "(uncaught error)" in output.text and counts.failed == output.text.count("... FAILED") == 0
            )
            verdict = Verdict.ERROR if uncaught or not counts.failed else Verdict.FAILED
        found.append(Summary("deno", verdict, counts, output.number_at(index), "deno: summary line"))
    return [*found, *read_all(output, *_DENO_CLOSINGS)]


DENO = Family(
    "deno",
    lambda program: program.tool == "deno" and program.first == "test",
    _deno_summaries,
    reader(*_DENO_SIGNS),
    lambda program: program.has("--version", "--help", "-h", "--no-run"),
    formats=("tap",),
    statuses={1: Verdict.FAILED},
)

QUNIT = Family(
    "qunit",
    lambda program: program.tool == "qunit",
    no_signs,
    no_signs,
    lambda program: program.has(*_VERSION_OR_HELP),
    formats=("tap",),
)

FAMILIES = (JASMINE, UVU, BUN, DENO, QUNIT)
