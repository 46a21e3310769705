"""ava and Playwright: their closing words are several lines, green and red apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    Family,
    Sign,
    by_counts,
    closings,
    counted_words,
    read_all,
    reader,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output

_VERSION_OR_HELP = ("--version", "--help", "-h", "-v", "-V")


# ava

_AVA = re.compile(
    r"^\s{2,}\d+ (?:tests? (?:passed|failed|skipped|todo|remaining unfinished)|known failures?|hooks? failed"
    r"|uncaught exceptions?|unhandled rejections?|tests? remained pending.*|previous failures? "
    r".*)(?: \[.*\])?$"
)
_AVA_CLOSINGS = closings(
    "ava",
    ("find any files to test", r"✘ Couldn.t find any files to test", Verdict.NO_TESTS, "no test files found"),
    ("find any matching tests", r"✘ Couldn.t find any matching tests", Verdict.NO_TESTS, "no matching tests"),
    ("No tests found in", r"✘ No tests found in ", Verdict.NO_TESTS, "no tests found"),
)
_AVA_SIGNS = signs(
    "ava",
    ("✘ [fail]:", r"^\s*✘ \[fail\]: ", Verdict.FAILED, "failed test"),
    ("Uncaught exception", r"^\s*Uncaught exception in ", Verdict.ERROR, "uncaught exception"),
    ("✘ ", r"^\s*✘ .* exited ", Verdict.ERROR, "test file ended early"),
    ("Timed out", r"^\s*✘ Timed out", Verdict.ERROR, "timed out"),
)


def _ava_summaries(output: Output) -> list[Summary]:
    found: list[Summary] = []
    words: list[str] = []
    last = -2
    lines = [
        (i, t)
        for i, t in output.containing(" test", " known", " hook", " uncaught", " unhandled")
        if _AVA.match(t)
    ]
    for index, text in [*lines, (len(output.lines) + 1, "")]:
        if words and index != last + 1:
            found.append(_ava(output, last, words))
            words = []
        words.append(text.strip())
        last = index
    return [*found, *read_all(output, *_AVA_CLOSINGS)]


def _ava(output: Output, index: int, lines: list[str]) -> Summary:
    numbers: dict[str, int] = {}
    for word, number in counted_words(", ".join(lines)).items():
        numbers[word.replace("tests ", "test ").replace("hooks ", "hook ").rstrip("s")] = number
    failed = numbers.get("test failed")
    counts = Counts(numbers.get("test passed"), failed, None, numbers.get("test skipped"))
    if failed or numbers.get("hook failed"):
        verdict = Verdict.FAILED
    elif any(word.startswith(("uncaught", "unhandled", "test rem")) for word in numbers):
        verdict = Verdict.ERROR
    else:
        verdict = by_counts(counts, ran=numbers.get("test passed", 0) + numbers.get("known failure", 0))
        if counts.skipped and numbers.get("test passed"):
            verdict = Verdict.PASSED
    if verdict in {Verdict.PASSED, Verdict.NO_TESTS} and index - len(lines) < 0:
        # The red lines come first: with nothing above the block they may be cut.
        return Summary(
            "ava", Verdict.UNKNOWN, counts, output.number_at(index), "ava: start is cut", final=False
        )
    return Summary("ava", verdict, counts, output.number_at(index), "ava: summary lines")


AVA = Family(
    "ava",
    lambda program: program.tool == "ava",
    _ava_summaries,
    reader(*_AVA_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP),
    formats=("tap",),
    scattered=True,
    filterable=False,
    statuses={1: Verdict.FAILED},
)

# Playwright

_PLAYWRIGHT = re.compile(
    r"^\s{2,}(?P<number>\d+) (?P<word>passed|failed|flaky|skipped|did not run|interrupted)"
    r"(?P<time> \(\d[^()]*\))?$"
)
_PLAYWRIGHT_ERRORS = re.compile(r"^\s*(?P<number>\d+) errors? (?:was|were) not a part of any test")
_PLAYWRIGHT_SIGNS = signs(
    "playwright",
    ("\u203a ", r"^\s+\d+\) .*\.[cm]?[jt]sx?:\d+:\d+ \u203a ", Verdict.FAILED, "failed test"),
    ("✘ ", r"^\s+✘ +\d+ .*\.[cm]?[jt]sx?:\d+", Verdict.FAILED, "failed test"),
    ("Timed out waiting", r"^\s*Timed out waiting \d+", Verdict.ERROR, "timed out"),
    ("Running ", r"^Running \d+ tests? using \d+ workers?", Verdict.UNKNOWN, "start without an end"),
    ("Error: Cannot find", r"^Error: Cannot find module", Verdict.ERROR, "test file not loaded"),
    ("Error", r"^\w*Error: (?!no test)", Verdict.ERROR, "test file not loaded"),
    general=("Error: Cannot find", "Error", "\u203a "),
)
_PLAYWRIGHT_BROKEN = Sign(
    "playwright",
    "Error: ",
    re.compile(r"^\w*Error: (?!No tests found)"),
    Verdict.ERROR,
    "test file not loaded",
)
_PLAYWRIGHT_NONE = closings(
    "playwright", ("No tests found", r"^Error: No tests found", Verdict.NO_TESTS, "no tests found")
)


_STATISTIC = re.compile(r'^\s*"(?P<name>expected|unexpected|flaky|skipped)": (?P<number>\d+),?$')
_LISTED = re.compile(r"^ {3,}\S")

STATISTICS_LINES = 9
"""The JSON report's statistics are so many lines at most."""


@dataclass(slots=True)
class _Block:
    """The lines of one summary: red ones first, the passed ones last."""

    first: int = -1
    last: int = -1
    numbers: dict[str, int] = field(default_factory=dict)


def _playwright_summaries(output: Output) -> list[Summary]:
    found: list[Summary] = []
    block = _Block()
    for index, text in output.containing(
        " passed", " failed", " flaky", " skipped", " did not run", " interrupted", "not a part of any test"
    ):
        errors = _PLAYWRIGHT_ERRORS.match(text)
        match = errors or _PLAYWRIGHT.match(text)
        if match is None:
            continue
        word = "errors" if errors else match["word"]
        if word in block.numbers or "passed" in block.numbers:
            found.append(_playwright(output, block))
            block = _Block()
        block.numbers[word] = int(match["number"])
        block.first = index if block.first < 0 else block.first
        block.last = index
    if block.numbers:
        found.append(_playwright(output, block))
    none = read_all(output, *_PLAYWRIGHT_NONE)
    broken = bool(none) and bool(read_all(output, _PLAYWRIGHT_BROKEN))
    return [*found, *_playwright_report(output), *(() if broken else none)]


def _playwright(output: Output, block: _Block) -> Summary:
    numbers = block.numbers
    counts = Counts(
        numbers.get("passed"), numbers.get("failed"), numbers.get("errors"), numbers.get("skipped")
    )
    green = numbers.get("passed", 0) + numbers.get("flaky", 0)
    verdict = by_counts(counts, ran=green + (counts.skipped or 0))
    line = output.number_at(block.last)
    if verdict in {Verdict.PASSED, Verdict.NO_TESTS}:
        if numbers.get("interrupted"):
            verdict = Verdict.ERROR
        elif _top_is_cut(output, block.first) or (verdict is Verdict.PASSED and "passed" not in numbers):
            rule = "playwright: summary is cut"
            return Summary("playwright", Verdict.UNKNOWN, counts, line, rule, final=False)
    return Summary("playwright", verdict, counts, line, "playwright: summary lines")


def _top_is_cut(output: Output, first: int) -> bool:
    """Whether a summary reaches up to the first line that is seen, so that red lines above may be cut."""
    above = first - 1
    while above >= 0 and _LISTED.match(output.text_at(above)):
        above -= 1
    return above < 0


def _playwright_report(output: Output) -> Iterator[Summary]:
    for start in output.indices('"stats": {'):
        numbers: dict[str, int] = {}
        for index in range(start + 1, start + STATISTICS_LINES):
            match = _STATISTIC.match(output.text_at(index))
            if match is not None:
                numbers[match["name"]] = int(match["number"])
        if {"expected", "unexpected"} <= numbers.keys():
            counts = Counts(numbers["expected"], numbers["unexpected"], None, numbers.get("skipped"))
            verdict = by_counts(
                counts, ran=numbers["expected"] + numbers.get("flaky", 0) + (counts.skipped or 0)
            )
            yield Summary("playwright", verdict, counts, output.number_at(start), "playwright: JSON report")


PLAYWRIGHT = Family(
    "playwright",
    lambda program: program.tool == "playwright" and program.first in {"test", "component-test"},
    _playwright_summaries,
    reader(*_PLAYWRIGHT_SIGNS),
    lambda program: program.has(*_VERSION_OR_HELP, "--list"),
    scattered=True,
    statuses={1: Verdict.FAILED},
)

FAMILIES = (AVA, PLAYWRIGHT)
