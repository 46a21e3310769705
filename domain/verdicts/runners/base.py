"""What a family of test runners has to say about itself, and the words that most grammars share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.programs import Program

NO_COUNTS = Counts()

EVERY = "*"
"""The format of a family that runs runners of all kinds."""


def never(program: Program) -> bool:  # noqa: ARG001 - the signature of a family's questions
    """Answer a family's question with no."""
    return False


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """
    One family of runners: which programs they are, and how they speak.

    `summaries` reads closing words; `signs` reads what counts where no closing words are seen.
    `scattered`: red and green stand in different lines, so that a filter can hide the red ones alone.
    `filterable`: a filter that keeps the word "fail" keeps all that is red.
    `several`: one run prints several summaries: a package, module or binary each.
    `last_counts`: of several summaries of one run, those before the last one are quoted.
    """

    name: str
    runs: Callable[[Program], bool]
    summaries: Callable[[Output], list[Summary]]
    signs: Callable[[Output], list[Summary]]
    lists: Callable[[Program], bool] = never
    silent: Callable[[Program], bool] = never
    statuses: Mapping[int, Verdict] = field(default_factory=dict)
    formats: tuple[str, ...] = ()
    scattered: bool = False
    filterable: bool = True
    several: bool = False
    last_counts: bool = True


def no_signs(output: Output) -> list[Summary]:  # noqa: ARG001 - the signature of a family's reader
    """Return nothing: all that such a family says are closing words."""
    return []


def by_counts(counts: Counts, *, ran: int | None = None) -> Verdict:
    """Return what the numbers say; `ran`: how many tests there were, where none are counted as passed."""
    if counts.failed:
        return Verdict.FAILED
    if counts.errors:
        return Verdict.ERROR
    executed = counts.passed if ran is None else ran - (counts.skipped or 0)
    return Verdict.PASSED if executed is None or executed > 0 else Verdict.NO_TESTS


@dataclass(frozen=True, slots=True)
class LineGrammar:
    """
    A summary that is one line with all of its numbers.

    Groups of the pattern: `passed`, `failed`, `errors`, `skipped` are the numbers; `ran` is the number of
    tests where the passed ones are not printed.
    """

    framework: str
    needle: str
    pattern: re.Pattern[str]

    def summaries(self, output: Output) -> Iterator[Summary]:
        """Yield each such line's summary."""
        for index, text in output.containing(self.needle):
            match = self.pattern.search(text)
            if match is not None:
                numbers = {name: int(value) for name, value in match.groupdict().items() if value is not None}
                ran = numbers.pop("ran", None)
                counts = Counts(**numbers)
                yield Summary(
                    self.framework,
                    by_counts(counts, ran=ran),
                    counts,
                    output.number_at(index),
                    f"{self.framework}: summary line",
                )


@dataclass(frozen=True, slots=True)
class Sign:
    """A line that says something of a run by itself, without numbers."""

    framework: str
    needle: str
    pattern: re.Pattern[str]
    verdict: Verdict
    rule: str
    final: bool = False
    general: bool = False

    def summaries(self, output: Output) -> Iterator[Summary]:
        """Yield the first such line's summary: more of the same say no more."""
        for index, text in output.containing(self.needle):
            if self.pattern.search(text) is not None:
                yield Summary(
                    self.framework,
                    self.verdict,
                    NO_COUNTS,
                    output.number_at(index),
                    f"{self.framework}: {self.rule}",
                    self.final,
                    self.general,
                )
                return


def signs(
    framework: str, *table: tuple[str, str, Verdict, str], general: tuple[str, ...] = ()
) -> tuple[Sign, ...]:
    """Return the signs of a framework from rows of needle, pattern, verdict and rule; `general` by needle."""
    return tuple(
        Sign(framework, needle, re.compile(pattern), verdict, rule, general=needle in general)
        for needle, pattern, verdict, rule in table
    )


def closings(framework: str, *table: tuple[str, str, Verdict, str]) -> tuple[Sign, ...]:
    """Return closing words without numbers, from the same rows."""
    return tuple(
        Sign(framework, needle, re.compile(pattern), verdict, rule, final=True)
        for needle, pattern, verdict, rule in table
    )


def read_all(output: Output, *readers: LineGrammar | Sign) -> list[Summary]:
    """Return the summaries of several grammars in the order of the output."""
    found = [summary for reader in readers for summary in reader.summaries(output)]
    return sorted(found, key=lambda summary: summary.line)


def reader(*readers: LineGrammar | Sign) -> Callable[[Output], list[Summary]]:
    """Return a function that reads several grammars."""
    return lambda output: read_all(output, *readers)


_COUNTED_WORD = re.compile(r"(?<!\d)(\d{1,9}) ([a-z][a-z -]{0,40}[a-z])")


def counted_words(text: str) -> dict[str, int]:
    """Return the numbers by the words after them, as in `1 failed, 2 passed`; equal words are added up."""
    found: dict[str, int] = {}
    for number, word in _COUNTED_WORD.findall(text):
        found[word] = found.get(word, 0) + int(number)
    return found
