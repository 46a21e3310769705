"""pytest, also with xdist, sugar, coverage and unittest cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import (
    NO_COUNTS,
    Family,
    by_counts,
    counted_words,
    read_all,
    signs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NAME = "pytest"

_PROGRAMS = frozenset({"pytest", "py.test", "pytest-3", "ptw", "pytest-watch", "pytest_watch"})
_LISTING = (
    "--collect-only", "--co", "--collectonly", "--fixtures", "--funcargs", "--fixtures-per-test", "--markers",
    "--setup-plan", "--cache-show", "--version", "-V", "-VV", "--help", "-h", "--trace-config-only",
)  # fmt: skip

_CLOSING = re.compile(
    r"^=*\s*(?P<words>no tests (?:ran|collected)\b.*|\d+ [a-z].*?|collected \d+.*?)"
    r" in \d+(?:\.\d+)?s(?:econds)?(?: seconds)?(?: \(\d[^()]*\))?\s*=*$"
)
_WORDS = re.compile(r"^\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*(?:/\d+ [a-z]+)?(?: \(.*\))?$")
_SUGAR_RESULTS = re.compile(r"^Results \(\d+(?:\.\d+)?m?s(?: / .*)?\):")
_SUGAR_COUNT = re.compile(
    r"^\s+(\d+) (passed|failed|error|errors|skipped|xfailed|xpassed|deselected|rerun)\b"
)
_INTERRUPTED = "(to show a full traceback on KeyboardInterrupt use --full-trace)"
_BANG = re.compile(r"^!{3,} (?P<words>.*) !{3,}$")
_GATE = re.compile(
    r"^(?:FAIL Required test coverage of|ERROR: Coverage failure: total of|Coverage failure: total of)"
)
_STOP = re.compile(r"^ERROR: (?!Coverage)")
_PROGRESS = re.compile(r"^(?:\S+\.py )?[.sxXuRFEpP,-]+\s+\[\s*\d+%\]$")

_SIGNS = signs(
    NAME,
    ("FAILED ", r"^FAILED \S+\.py(?:::|\s|$)", Verdict.FAILED, "failed test in the short summary"),
    ("= FAILURES =", r"^=+ FAILURES =+$", Verdict.FAILED, "section of failures"),
    (" FAILED", r"::\S.* FAILED\s*(?:\[\s*\d+%\])?$", Verdict.FAILED, "failed test"),
    (
        "ERROR",
        r"^ERROR \S+\.py(?:::|\s|$)|^_{3,} ERROR (?:collecting|at) ",
        Verdict.ERROR,
        "test with an error",
    ),
    ("= ERRORS =", r"^=+ ERRORS =+$", Verdict.ERROR, "section of errors"),
    ("INTERNALERROR>", r"^INTERNALERROR> ", Verdict.ERROR, "internal error"),
    ("Fatal Python error", r"Fatal Python error: ", Verdict.ERROR, "interpreter crash"),
    ("ERROR: ", r"^ERROR: (?!Coverage)", Verdict.ERROR, "usage error"),
    ("error: ", r"^(?:pytest|py\.test|__main__\.py): error: ", Verdict.ERROR, "usage error"),
    ("while loading conftest", r"^ImportError while loading conftest", Verdict.ERROR, "conftest not loaded"),
    (
        "E   ",
        r"^E   (?:\w+\.)*(?:ImportError|ModuleNotFoundError|SyntaxError)\b",
        Verdict.ERROR,
        "import failed",
    ),
    ("test session starts", r"^=+ test session starts ", Verdict.UNKNOWN, "start without an end"),
    general=("ERROR: ", "E   "),
)


def runs(program: Program) -> bool:
    """Whether a program is pytest."""
    return program.tool in _PROGRAMS


def lists(program: Program) -> bool:
    """Whether pytest is called so that it runs nothing."""
    return program.has(*_LISTING)


def summaries(output: Output) -> list[Summary]:
    """Return the closing words of pytest's runs."""
    return sorted([*_closing_lines(output), *_sugar_blocks(output)], key=lambda summary: summary.line)


def marks(output: Output) -> list[Summary]:
    """Return the signs of runs without closing words."""
    return [*_progress(output), *read_all(output, *_SIGNS)]


def _progress(output: Output) -> Iterator[Summary]:
    """Read the marks of the tests, all that is printed with -qq."""
    green = False
    for index, text in output.containing("%]"):
        if not _PROGRESS.match(text):
            continue
        marks = text.rpartition("[")[0].rpartition(".py ")[2]
        number = output.number_at(index)
        if "F" in marks:
            yield Summary(
                NAME, Verdict.FAILED, NO_COUNTS, number, "pytest: F in the progress line", final=False
            )
            return
        if "E" in marks:
            yield Summary(
                NAME, Verdict.ERROR, NO_COUNTS, number, "pytest: E in the progress line", final=False
            )
            return
        green = green or "." in marks
        if green and text.endswith("[100%]"):
            yield Summary(
                NAME, Verdict.PASSED, NO_COUNTS, number, "pytest: progress up to 100 %", final=False
            )


def _closing_lines(output: Output) -> list[Summary]:
    found: list[Summary] = []
    stops = list(_stops(output))
    for index, text in output.containing(" in "):
        match = _CLOSING.match(text)
        if match is None:
            continue
        words = match["words"]
        if not words.startswith(("no tests", "collected")) and not _WORDS.match(words):
            continue
        stopped = None
        while stops and stops[0][0] <= index:
            stopped = stops.pop(0)
        found.append(_closing(output, index, words, stopped))
    return found


def _closing(output: Output, index: int, words: str, stopped: tuple[int, Verdict, str] | None) -> Summary:
    counts, verdict = _count(words)
    line = output.number_at(index)
    if verdict in {Verdict.PASSED, Verdict.NO_TESTS}:
        if stopped is not None:
            return Summary(NAME, stopped[1], counts, output.number_at(stopped[0]), stopped[2])
        if verdict is Verdict.NO_TESTS and any(_STOP.match(text) for _, text in output.containing("ERROR: ")):
            return Summary(NAME, Verdict.ERROR, counts, line, "pytest: usage error")
    return Summary(NAME, verdict, counts, line, "pytest: summary line")


def _stops(output: Output) -> Iterator[tuple[int, Verdict, str]]:
    """Yield what makes a run red whose numbers are green: it was interrupted, or a coverage gate failed."""
    for index, text in output.containing("!!!", "overage", _INTERRUPTED, "INTERNALERROR>"):
        bang = _BANG.match(text)
        stopped = bang is not None and not bang["words"].startswith("stopping after")
        if stopped or text.startswith((_INTERRUPTED, "INTERNALERROR> ")):
            yield index, Verdict.ERROR, "pytest: interrupted"
        elif _GATE.match(text):
            yield index, Verdict.FAILED, "pytest: coverage below its threshold"


def _count(words: str) -> tuple[Counts, Verdict]:
    if words.startswith(("no tests", "collected")):
        return NO_COUNTS, Verdict.NO_TESTS
    numbers = counted_words(words)
    errors = numbers.get("error", numbers.get("errors"))
    failed = numbers.get("failed")
    if failed is None and ("subtests failed" in numbers or "subtest failed" in numbers):
        failed = numbers.get("subtests failed", numbers.get("subtest failed"))
    counts = Counts(numbers.get("passed"), failed, errors, numbers.get("skipped"))
    green = ("passed", "xfailed", "xpassed", "subtests passed", "subtest passed")
    return counts, by_counts(counts, ran=sum(numbers.get(word, 0) for word in green) + (counts.skipped or 0))


def _sugar_blocks(output: Output) -> list[Summary]:
    found = []
    for index, text in output.containing("Results ("):
        if not _SUGAR_RESULTS.match(text):
            continue
        words: list[str] = []
        position = index + 1
        while position < len(output.lines) and (
            not output.text_at(position) or output.text_at(position)[0] == " "
        ):
            match = _SUGAR_COUNT.match(output.text_at(position))
            if match is not None:
                words.append(f"{match[1]} {match[2]}")
            position += 1
        if words:
            counts, verdict = _count(", ".join(words))
            found.append(Summary(NAME, verdict, counts, output.number_at(index), "pytest: summary of sugar"))
    return found


FAMILY = Family(
    NAME,
    runs,
    summaries,
    marks,
    lists,
    statuses={1: Verdict.FAILED, 2: Verdict.ERROR, 3: Verdict.ERROR, 4: Verdict.ERROR, 5: Verdict.NO_TESTS},
)
