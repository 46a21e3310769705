"""JUnit's XML, which many runners write: read where a run's own report is printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Counts, Summary
from tokeneconomizer.domain.verdicts.runners.base import Family, by_counts, never, no_signs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.verdicts.output import Output

NAME = "junit-xml"

TAG_CHARACTERS = 1_000
"""The attributes of a suite fit in; a longer tag is none."""

SUITES = 200
"""So many suites are added up; a report with more is read by its first ones."""

_TAG = re.compile(rf"<testsuite\s(?P<attributes>[^<>]{{0,{TAG_CHARACTERS}}})>")
_WHOLE = re.compile(rf"<testsuites\s(?P<attributes>[^<>]{{0,{TAG_CHARACTERS}}})>")
_NUMBER = re.compile(r'\b(?P<name>tests|failures|errors|skipped)="(?P<number>\d{1,9})"')


def _summaries(output: Output) -> list[Summary]:
    found = []
    for index in output.indices("<testsuites "):
        total = _WHOLE.search(output.text_at(index))
        if total is not None and "failures=" in total["attributes"]:
            found.append(_summary(output, index, _add({}, total["attributes"])))
    return found or _suites(output)


def _suites(output: Output) -> list[Summary]:
    totals: dict[str, int] = {}
    first = None
    for seen, (index, attributes) in enumerate(_tags(output)):
        if seen == SUITES:
            break
        first = index if first is None else first
        _add(totals, attributes)
    return [] if first is None else [_summary(output, first, totals)]


def _tags(output: Output) -> Iterator[tuple[int, str]]:
    for index in output.indices("<testsuite "):
        for tag in _TAG.finditer(output.text_at(index)):
            yield index, tag["attributes"]


def _add(totals: dict[str, int], attributes: str) -> dict[str, int]:
    for number in _NUMBER.finditer(attributes):
        totals[number["name"]] = totals.get(number["name"], 0) + int(number["number"])
    return totals


def _summary(output: Output, index: int, totals: dict[str, int]) -> Summary:
    failed, errors, skipped = totals.get("failures", 0), totals.get("errors", 0), totals.get("skipped", 0)
    passed = totals.get("tests", 0) - failed - errors - skipped
    counts = Counts(max(passed, 0), failed, errors, skipped)
    return Summary(NAME, by_counts(counts), counts, output.number_at(index), "junit xml: suites")


FAMILY = Family(NAME, never, _summaries, no_signs)
