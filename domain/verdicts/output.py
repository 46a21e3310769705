"""
The text of a shell call as lines without colour, redraws and carriage returns.

Everything here is linear in what it reads, and above a limit it reads only the beginning and the end.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from tokeneconomizer.domain.character_pairs import pairs_in, pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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

# It starts with what it looks for and looks behind afterwards, so that the engine can skip over other text.
_ESCAPE = re.compile(
    r"""[\x1b\x9b\\\[](?:
      (?: (?<=\x1b) | (?<=\\) (?: u001b | x1b | 033 ) ) \[ [0-?]* [ -/]* (?P<letter>[@-~])   # colour, cursor
    | (?<=\x1b) \] [^\x07\x1b]* (?: \x07 | \x1b\\ )                       # title, hyperlink
    | (?<=\x1b) [()] [A-Z0-9]
    | (?<=\x1b) [=>78cDEHMNOZ]
    | (?<=\x9b) [0-?]* [ -/]* [@-~]
    | (?<=\[) (?: \d{1,3} ; ){0,6} \d{1,3} m                              # colour without its escape
    )""",
    re.VERBOSE,
)
_CURSOR_LETTERS = frozenset("ABEFGHJ")
"""Movements after which a terminal writes elsewhere: what follows is another line."""

_ERASED = "\x1a"
"""Stands for an erased line until redraws have been read; the character itself is taken out before."""

_OTHER_CONTROLS = re.compile(r"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ufeff]")
_OTHER_CONTROL_BYTES = bytes([*range(7), 11, 12, *range(14, 27), *range(28, 32), 127])

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


@dataclass(frozen=True, slots=True)
class Output:
    """
    All lines that were read, each as a terminal would show it.

    Attributes:
        lines: their texts.
        numbers: each line's number in the original output.
        text: all lines, joined.
        plain: the text with one-byte characters only: Python searches that several times faster.
        starts: where each line begins in the text.
        pairs: which characters follow each other somewhere; see `character_pairs`.
        cut_at: the index of the last line at which something was left out, if something was.

    """

    lines: tuple[str, ...]
    numbers: Sequence[int]
    text: str
    plain: str
    starts: Sequence[int]
    pairs: frozenset[int]
    cut_at: int | None
    found: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def indices(self, *needles: str) -> Sequence[int]:
        """Return in order the index of each line that holds one of the needles."""
        if len(needles) == 1:
            return self._with(needles[0])
        hits = [hit for needle in needles if (hit := self._with(needle))]
        if len(hits) < 2:  # noqa: PLR2004 - nothing to merge
            return hits[0] if hits else ()
        return sorted({index for hit in hits for index in hit})

    def containing(self, *needles: str) -> Iterable[tuple[int, str]]:
        """Give the index and text of each line that holds one of the needles and may be a summary."""
        indices = self.indices(*needles)
        # Nearly always there is none: a generator would be made for nothing.
        return self._short_lines(indices) if indices else ()

    def _short_lines(self, indices: Sequence[int]) -> Iterator[tuple[int, str]]:
        for index in indices:
            text = self.lines[index]
            if len(text) <= LINE_CHARACTERS:
                yield index, text

    def text_at(self, index: int) -> str:
        """Return a line's text, empty beyond both ends."""
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    def number_at(self, index: int) -> int:
        """Return a line's number in the original output."""
        return self.numbers[index]

    @property
    def last(self) -> int:
        """The index of the last line that is not blank; -1 where all are."""
        return next((i for i in range(len(self.lines) - 1, -1, -1) if self.lines[i].strip()), -1)

    def _with(self, needle: str) -> tuple[int, ...]:
        # Several grammars ask for the same words.
        known = self.found.get(needle)
        if known is None:
            possible = pairs_of(needle) <= self.pairs and (needle.isascii() or self.text is not self.plain)
            known = self.found[needle] = tuple(self._search(needle)) if possible else ()
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
    lines: list[str] = []
    numbers: list[int] = []
    cut_at: int | None = None
    for first_number, part, continues in _parts(output):
        if continues:
            cut_at = len(lines)
        _read(part, first_number, lines, numbers)
    if numbered:
        lines = [_NUMBERING.sub("", line, count=1) for line in lines]
    text = "\n".join(lines)
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    starts = tuple(accumulate(map((1).__add__, map(len, lines)), initial=0))
    result = Output(tuple(lines), numbers, text, plain, starts, pairs_in(plain), cut_at)
    markers = [index for index in _possible_markers(result) if _is_marker(lines[index])]
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


def _read(part: str, number: int, lines: list[str], numbers: list[int]) -> None:
    text = _without_controls(part).replace("\r\n", "\n")
    is_redrawn = "\r" in text
    if "[" in text or "\x1b" in text or "\x9b" in text:
        text = _ESCAPE.sub(_replacement, text)
        is_redrawn = is_redrawn or "\r" in text or _ERASED in text
    if "\x08" in text:
        text = _without_backspaces(text)
    text = text.replace("\x1b", "").replace("\x07", "")
    shown = text.split("\n")
    if not is_redrawn and "\\n" not in text:
        lines.extend(map(str.rstrip, shown))
        numbers.extend(range(number, number + len(shown)))
        return
    for line in shown:
        pieces = _seen_pieces(line) if "\r" in line else [line.replace(_ERASED, "").rstrip()]
        if "\r" not in line and line.startswith(("{", "[{")) and "\\n" in line:
            pieces += [piece.rstrip() for piece in _wrapped_lines(line)]
        lines += pieces
        numbers += [number] * len(pieces)
        number += 1


def _without_controls(text: str) -> str:
    """Take out the control characters that show nothing; most outputs have none, which bytes tell fastest."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _OTHER_CONTROL_BYTES)) == len(data) and "\ufeff" not in text:
        return text
    return _OTHER_CONTROLS.sub("", text)


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
    words = [
        word
        for word in _MARKER_WORDS
        if any(pairs_of(said) <= output.pairs for said in (word, word.title(), word.upper()))
    ]
    lowered = output.plain.lower() if words else ""
    found = []
    for word in words:
        position = lowered.find(word)
        while position >= 0:
            index = bisect_right(output.starts, position) - 1
            found.append(index)
            end = output.starts[index] + len(output.lines[index])
            position = lowered.find(word, end)
    return found


def _is_marker(text: str) -> bool:
    return len(text) <= MARKER_CHARACTERS and _MARKER.search(text) is not None
