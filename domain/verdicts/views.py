"""How much of a run's output is seen: through pipes, limits of lines, and an agent's truncation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.calls import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokeneconomizer.domain.verdicts.calls import Call
    from tokeneconomizer.domain.verdicts.output import Output
    from tokeneconomizer.domain.verdicts.shell import Invocation

DEFAULT_LINES = 10
"""What head and tail show without a number."""

LINES_BELOW_MARKER = 3
"""So few lines below an agent's marker are no end of a run."""

_WHOLE = frozenset(
    [
        "cat",
        "tee",
        "less",
        "more",
        "col",
        "colcrt",
        "ts",
        "sponge",
        "nl",
        "fold",
        "ansi2txt",
        "strip-ansi",
        "unbuffer",
        "Out-String",
        "Tee-Object",
    ]
)
_LIMIT = re.compile(r"^-(?:n|-lines=)?\+?(?P<number>\d+)$")
_SEARCHES = frozenset({"grep", "egrep", "rg", "ag"})
_NUMBERS = re.compile(r"^(?:-[A-Za-z]*n[A-Za-z]*|--line-number)$")
_FAIL_WORD = re.compile(r"fail", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class View:
    """What may be missing of the run's output."""

    start_cut: bool = False
    end_cut: bool = False
    filtered: bool = False
    keeps_red: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.start_cut or self.end_cut or self.filtered)

    @property
    def end_seen(self) -> bool:
        """Whether the closing words would be seen."""
        return not (self.end_cut or self.filtered)


def view_of(calls: Sequence[Call], output: Output) -> View:
    """Return the view on the runs of a command."""
    start_cut = end_cut = filtered = False
    keeps_red = True
    shown = len(output.lines) - (not output.text_at(len(output.lines) - 1))
    for call in calls:
        if call.role not in {Role.RUNNER, Role.WRAPPER}:
            continue
        for fed in shown_through(call, calls):
            program = fed.program
            if program in {"head", "tail"}:
                number, from_start = _limit(fed)
                reached = shown >= number
                start_cut |= program == "tail" and (reached or from_start)
                end_cut |= program == "head" and reached
            elif not (program in _WHOLE or (program == "sed" and "-n" not in fed.arguments)):
                filtered = True
                keeps_red = keeps_red and any(_FAIL_WORD.search(word) for word in fed.arguments)
    if output.cut_at is not None:
        start_cut = True
        below = sum(bool(line.strip()) for line in output.lines[output.cut_at + 1 :])
        end_cut = end_cut or below < LINES_BELOW_MARKER
    return View(start_cut, end_cut, filtered, keeps_red)


def shown_through(call: Call, calls: Sequence[Call]) -> Iterator[Invocation]:
    """Yield the programs that show a call's output: those that it is piped to, those that read its file."""
    yield from downstream(call, calls)
    file = call.invocation.output_file
    if not file:
        return
    for later in calls:
        if later.role is Role.READER and file in later.program.arguments:
            yield later.invocation
            yield from downstream(later, calls)


def numbered(calls: Sequence[Call]) -> bool:
    """Whether a search puts numbers before the lines of a run."""
    shown = [
        fed
        for call in calls
        if call.role in {Role.RUNNER, Role.WRAPPER}
        for fed in shown_through(call, calls)
    ]
    return any(
        fed.program in _SEARCHES and any(_NUMBERS.match(word) for word in fed.arguments) for fed in shown
    )


def downstream(call: Call, calls: Sequence[Call]) -> Iterator[Invocation]:
    """Yield the programs that a call's output goes through."""
    piped = call.invocation.piped_into
    for following in calls:
        if following.invocation.position <= call.invocation.position:
            continue
        if not piped:
            return
        if following.role is Role.READER or following.role is Role.OTHER:
            yield following.invocation
        piped = following.invocation.piped_into


def fed_by_pipe(call: Call, calls: Sequence[Call]) -> bool:
    """Whether a call reads what the one before it prints."""
    position = call.invocation.position
    return any(other.invocation.position == position - 1 and other.invocation.piped_into for other in calls)


def _limit(invocation: Invocation) -> tuple[int, bool]:
    words = invocation.arguments
    for position, word in enumerate(words):
        if word in {"-n", "--lines", "-c", "--bytes"} and position + 1 < len(words):
            value = words[position + 1]
            number = value.lstrip("+-")
            if word in {"-c", "--bytes"} or not number.isdigit():
                return 0, True
            return int(number), value.startswith("+")
        match = _LIMIT.match(word)
        if match is not None:
            return int(match["number"]), "+" in word
    return DEFAULT_LINES, False
