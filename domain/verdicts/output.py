"""
The text of a shell call as lines without colour, redraws and carriage returns.

Everything here is linear in what it reads, and above a limit it reads only the beginning and the end.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WHOLE_CHARACTERS = 256 * 1024
"""Up to here all is read: a hook must answer in milliseconds whatever a test prints."""

HEAD_CHARACTERS = 64 * 1024
"""What is read of the beginning of a longer output: the start of the run and the first failures."""

TAIL_CHARACTERS = 192 * 1024
"""What is read of its end, where runners put their summaries."""

LINE_CHARACTERS = 1_000
"""No runner's summary line is longer; so no pattern ever meets a long line."""

JSON_CHARACTERS = 64 * 1024
"""A JSON line up to this length is looked into for texts that a program wrapped."""

MARKER_CHARACTERS = 200
"""A longer line that speaks of truncation is text of a program, not an agent's marker."""

_ESCAPE = re.compile(
    r"""
    (?: \x1b | \\u001b | \\x1b | \\033 ) \[ [0-?]* [ -/]* (?P<letter>[@-~])   # colour, cursor, erase
    | \x1b \] [^\x07\x1b]* (?: \x07 | \x1b\\ )                                # title, hyperlink
    | \x1b [()] [A-Z0-9]
    | \x1b [=>78cDEHMNOZ]
    | \x9b [0-?]* [ -/]* [@-~]
    | \[ (?: \d{1,3} ; ){0,6} \d{1,3} m                                       # colour without its escape
    """,
    re.VERBOSE,
)
_CURSOR_LETTERS = frozenset("ABEFGHJ")
"""Movements after which a terminal writes elsewhere: what follows is another line."""

_ERASED = "\x1a"
"""Stands for an erased line until redraws have been read; the character itself is taken out before."""

_OTHER_CONTROLS = re.compile(r"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ufeff]")

_NUMBERING = re.compile(r"^(?:[\w./-]{1,200}:)?\d{1,7}[:-]")

_MARKER = re.compile(
    r"""
    \d[\d,.]{0,12} \s? (?:more\s)? (?:lines?|characters|chars|tokens|bytes|[kKmM]i?B) \b [^a-z]{0,4}
        (?: truncated | omitted | elided | hidden | removed | skipped | \(ctrl )
    | (?: truncated | omitted | dropped | clipped | skipping | hiding ) \s+ \d[\d,.]*
    | [\[<(] \s* (?: \.{3} )? \s* (?: output | response | text )? \s* (?:was\s)?
        (?: truncated | clipped | omitted )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MARKER_WORDS = (
    "truncat",
    "omitted",
    "elided",
    "clipped",
    "dropped",
    "lines skipped",
    "skipping",
    "(ctrl",
    "lines hidden",
    "lines removed",
)


class Line(NamedTuple):
    """One line as a terminal would show it, with its number in the original output."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """
    All lines that were read.

    `cut_at` is the index of the last line at which something was left out, if something was.
    `plain` is the text with one-byte characters only: Python searches that several times faster.
    """

    lines: tuple[Line, ...]
    text: str
    plain: str
    starts: tuple[int, ...]
    cut_at: int | None
    found: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def indices(self, *needles: str) -> Sequence[int]:
        """Return in order the index of each line that holds one of the needles."""
        hits = [hit for needle in needles if (hit := self._with(needle))]
        if len(hits) < 2:  # noqa: PLR2004 - nothing to merge
            return hits[0] if hits else ()
        return sorted({index for hit in hits for index in hit})

    def containing(self, *needles: str) -> Iterator[tuple[int, str]]:
        """Yield the index and text of each line that holds one of the needles and may be a summary."""
        for index in self.indices(*needles):
            text = self.lines[index].text
            if len(text) <= LINE_CHARACTERS:
                yield index, text

    def text_at(self, index: int) -> str:
        """Return a line's text, empty beyond both ends."""
        return self.lines[index].text if 0 <= index < len(self.lines) else ""

    def number_at(self, index: int) -> int:
        """Return a line's number in the original output."""
        return self.lines[index].number

    @property
    def last(self) -> int:
        """The index of the last line that is not blank; -1 where all are."""
        return next((i for i in range(len(self.lines) - 1, -1, -1) if self.lines[i].text.strip()), -1)

    def _with(self, needle: str) -> tuple[int, ...]:
        # Several grammars ask for the same words.
        known = self.found.get(needle)
        if known is None:
            known = self.found[needle] = tuple(self._search(needle))
        return known

    def _search(self, needle: str) -> Iterator[int]:
        text = self.plain if needle.isascii() else self.text
        starts = self.starts
        position = text.find(needle)
        while position >= 0:
            index = bisect_right(starts, position) - 1
            yield index
            if index + 1 >= len(starts):
                return
            position = text.find(needle, starts[index + 1])


def clean(output: str, *, numbered: bool = False) -> Output:
    """Return the lines of an output; `numbered`: a search has put file names and numbers before them."""
    found: list[Line] = []
    cut_at: int | None = None
    for first_number, part, continues in _parts(output):
        if continues:
            cut_at = len(found)
        _read(part, first_number, found)
    if numbered:
        found = [Line(line.number, _NUMBERING.sub("", line.text, count=1)) for line in found]
    starts = []
    position = 0
    for line in found:
        starts.append(position)
        position += len(line.text) + 1
    text = "\n".join([line.text for line in found])
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    result = Output(tuple(found), text, plain, tuple(starts), cut_at)
    markers = [index for index in _possible_markers(result) if _is_marker(found[index].text)]
    return replace(result, cut_at=max(markers, default=cut_at)) if markers else result


def _parts(output: str) -> Iterator[tuple[int, str, bool]]:
    if len(output) <= WHOLE_CHARACTERS:
        yield 1, output, False
        return
    head_end = output.rfind("\n", 0, HEAD_CHARACTERS)
    yield 1, output[: max(head_end, 0)], False
    tail_start = output.find("\n", len(output) - TAIL_CHARACTERS) + 1
    if tail_start:
        yield output.count("\n", 0, tail_start) + 1, output[tail_start:], True


def _read(part: str, number: int, found: list[Line]) -> None:
    text = _OTHER_CONTROLS.sub("", part.replace("\r\n", "\n"))
    if "[" in text or "\x1b" in text or "\x9b" in text:
        text = _ESCAPE.sub(_replacement, text)
    if "\x08" in text:
        text = _without_backspaces(text)
    text = text.replace("\x1b", "").replace("\x07", "")
    for line in text.split("\n"):
        if "\r" in line:
            found.extend(Line(number, piece) for piece in _seen_pieces(line))
        else:
            found.append(Line(number, line.replace(_ERASED, "").rstrip()))
            if line.startswith(("{", "[{")) and "\\n" in line:
                found.extend(Line(number, piece.rstrip()) for piece in _wrapped_lines(line))
        number += 1


def _replacement(match: re.Match[str]) -> str:
    letter = match["letter"]
    if letter == "K":
        return _ERASED
    return "\r" if letter in _CURSOR_LETTERS else ""


def _seen_pieces(line: str) -> list[str]:
    """Return what redraws leave: a piece is gone when it was erased, or one as long came over it."""
    seen: list[str] = []
    for piece in line.split("\r"):
        text = piece.replace(_ERASED, "").rstrip()
        if piece.startswith(_ERASED):
            seen.clear()
        if text:
            while seen and len(seen[-1]) <= len(text):
                seen.pop()
            seen.append(text)
    return seen or [""]


def _without_backspaces(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\x08":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _wrapped_lines(line: str) -> list[str]:
    # A program that takes a run's output into a JSON text; a runner's own report is read by its grammar.
    if (
        len(line) > JSON_CHARACTERS
        or '"Action":' in line
        or '"numTotalTests"' in line
        or '"examples"' in line
    ):
        return []
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    texts = value.values() if isinstance(value, dict) else value
    return [piece for text in texts if isinstance(text, str) and "\n" in text for piece in text.split("\n")]


def _possible_markers(output: Output) -> list[int]:
    lowered = output.plain.lower()
    words = [word for word in _MARKER_WORDS if word in lowered]
    found = []
    for word in words:
        position = lowered.find(word)
        while position >= 0:
            index = bisect_right(output.starts, position) - 1
            found.append(index)
            end = output.starts[index] + len(output.lines[index].text)
            position = lowered.find(word, end)
    return found


def _is_marker(text: str) -> bool:
    return len(text) <= MARKER_CHARACTERS and _MARKER.search(text) is not None
