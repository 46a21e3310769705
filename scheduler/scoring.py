"""
The guard's redirects beside labelled turns: what was found, how late, and what was said without need.

A label marks a stretch of one turn as stuck or not. A stuck one counts as found when a redirect stands in its
stretch, at most `LATE_CALLS_MAX` calls after the call at which it was due; any redirect in a stretch that is
not stuck is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadLabel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokeneconomizer.scheduler.replay import ReplayedRedirect, ReplayedTurn

LATE_CALLS_MAX = 2
"""A redirect that comes later than this after the labelled call is no use any more."""

CALLS_HOST = "calls"
BENCHMARK_HOST = "swe"
HOST_NAMES = {"claude": "claude_code", BENCHMARK_HOST: CALLS_HOST}
"""Labels' names of hosts that have another one here; benchmark runs are kept as neutral calls."""

STUCK, NOT_STUCK = "stuck", "not_stuck"


@dataclass(frozen=True, slots=True)
class Label:
    """
    One labelled stretch.

    Attributes:
        host: whose log it is.
        file: as the labels name it, relative to `folder`.
        folder: the place where the file lies: `shared`, or `beside` the labels.
        in_lines: whether the stretch counts lines of the file; else calls of the turn from 1.
        due: number of the call in its turn at which a redirect is due, or the line that holds it; None where
            nothing is stuck.

    """

    name: str
    host: str
    file: str
    folder: str
    in_lines: bool
    first: int
    last: int
    is_stuck: bool
    confidence: str
    due: int | None

    def holds(self, redirect: ReplayedRedirect) -> bool:
        """Whether the redirect stands in the stretch."""
        return self.first <= (redirect.line if self.in_lines else redirect.call) <= self.last


@dataclass(frozen=True, slots=True)
class Scored:
    """
    A label with what the guard did there.

    Attributes:
        late: how many calls after the due one the first redirect came; below 0 when it came early; None
            without a redirect or a due call.

    """

    label: Label
    redirects: tuple[ReplayedRedirect, ...]
    late: int | None = None

    @property
    def in_time(self) -> bool:
        """Whether a stuck turn was redirected in time."""
        return self.label.is_stuck and self.late is not None and self.late <= LATE_CALLS_MAX

    @property
    def is_false(self) -> bool:
        """Whether something was said where nothing was stuck."""
        return not self.label.is_stuck and bool(self.redirects)


@dataclass(frozen=True, slots=True)
class Score:
    """
    Figures over labels.

    Attributes:
        precision: of the redirected labels the share that is stuck; None when none was redirected.
        recall: of the stuck labels the share that was redirected in time; None when none is stuck.
        recall_sure: the same over those that the labeller was sure of.
        late_calls: how late each stuck label was redirected, in order.

    """

    labels: int
    stuck: int
    in_time: int
    false_redirects: int
    precision: float | None
    recall: float | None
    recall_sure: float | None
    late_calls: tuple[int, ...]


def label_from(line: Mapping[str, object]) -> Label:
    """
    Read a label in either form.

    Raises:
        BadLabel: when a field is missing or not understood.

    """
    try:
        host = str(line["host"])
        in_lines = "first_line" in line
        kind = "line" if in_lines else "call"
        first, last = _whole(line[f"first_{kind}"]), _whole(line[f"last_{kind}"])
        if line["label"] not in {STUCK, NOT_STUCK}:
            message = f"label is {line['label']!r}: write `{STUCK}` or `{NOT_STUCK}`"
            raise BadLabel(message)
        benchmark = host == BENCHMARK_HOST
        return Label(
            name=str(line["id"]),
            host=HOST_NAMES.get(host, host),
            file=f"loops/calls/{line['id']}.jsonl" if benchmark else str(line["file"]),
            folder="shared" if in_lines else "beside",
            in_lines=in_lines,
            first=first,
            last=last,
            is_stuck=line["label"] == STUCK,
            confidence=str(line.get("confidence", "")),
            due=_due(line.get("redirect_after_call")),
        )
    except (KeyError, TypeError, ValueError) as error:
        message = f"a label cannot be read ({error!r}): compare it with the forms in docs/guard.md"
        raise BadLabel(message) from error


def _due(given: object) -> int | None:
    """Return the due call, from 1; in labels of lines it is an object with its line."""
    if isinstance(given, dict):
        return _whole(given["line"])
    return None if given is None else _whole(given)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"{value!r} is no whole number"
        raise TypeError(message)
    return value


def scored(label: Label, turns: Iterable[ReplayedTurn]) -> Scored:
    """Return the label with the redirects that stand in its stretch."""
    found = [(turn, each) for turn in turns for each in turn.redirects if label.holds(each)]
    late = None
    if found and label.due is not None:
        turn, first = found[0]
        late = first.call - (_number_of_call(turn, label.due) if label.in_lines else label.due)
    return Scored(label, tuple(each for _, each in found), late)


def _number_of_call(turn: ReplayedTurn, line: int) -> int:
    """Return the number of the turn's first call in a line, or of the last one before it."""
    if line in turn.call_lines:
        return turn.call_lines.index(line) + 1
    return sum(before < line for before in turn.call_lines)


def score(results: Sequence[Scored]) -> Score:
    """Return the figures over all labels."""
    stuck = [result for result in results if result.label.is_stuck]
    sure = [result for result in stuck if result.label.confidence == "high"]
    false = sum(result.is_false for result in results)
    redirected = [result for result in stuck if result.redirects]
    return Score(
        labels=len(results),
        stuck=len(stuck),
        in_time=sum(result.in_time for result in stuck),
        false_redirects=false,
        precision=_share(len(redirected), len(redirected) + false),
        recall=_share(sum(result.in_time for result in stuck), len(stuck)),
        recall_sure=_share(sum(result.in_time for result in sure), len(sure)),
        late_calls=tuple(result.late for result in redirected if result.late is not None),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
