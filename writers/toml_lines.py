"""A TOML text as lines: where statements begin, and which line opens a table."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokeneconomizer.writers.edits import Document, Path
from tokeneconomizer.writers.json_spans import BYTE_ORDER_MARK, body_start


class Line(NamedTuple):
    """A line with its end, and where it starts."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Where the next one starts."""
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        """Whether nothing is written on it."""
        return not self.text.strip()

    @property
    def is_comment(self) -> bool:
        """Whether it holds a comment alone, if a statement can begin here."""
        return self.text.lstrip(" \t").startswith("#")

    @property
    def may_be_header(self) -> bool:
        """Whether it opens a table, if a statement can begin here."""
        return self.text.lstrip(" \t").startswith("[")


def lines_of(text: str) -> list[Line]:
    """Give the lines behind a byte order mark."""
    return list(_each_line(text))


def _each_line(text: str) -> Iterator[Line]:
    start = body_start(text)
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield Line(start, text[start:end])
        start = end


def line_break_of(text: str) -> str:
    """Give the line break that a new line gets: that of the first line."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_break_before(text: str, at: int) -> str:
    """Give the line break that ends here, if one does."""
    if text.endswith("\r\n", 0, at):
        return "\r\n"
    return "\n" if text.endswith("\n", 0, at) else ""


def value_of(text: str) -> Document | None:
    """Give the value of a text, None where it is not whole."""
    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except ValueError:
        return None


def is_statement_start(text: str, at: int) -> bool:
    """Tell whether a line is one of the document, and not of a string or an array that began before it."""
    return value_of(text[:at]) is not None


def header_of(text: str, lines: Sequence[Line], path: Path) -> Line | None:
    """Find the line that opens the table of this path."""
    wanted: Document = {}
    for key in reversed(path):
        wanted = {key: wanted}
    for line in lines:
        if line.may_be_header and value_of(line.text) == wanted and is_statement_start(text, line.start):
            return line
    return None


def block_of(text: str, path: Path) -> tuple[int, int] | None:
    """
    Find where a table's lines start and end, from the blank line that parts it from what is above.

    Comments behind its last key may be the next table's, and are left.
    """
    lines = lines_of(text)
    header = header_of(text, lines, path)
    if header is None:
        return None
    first = lines.index(header)
    end = first + 1
    while end < len(lines) and not (lines[end].may_be_header and is_statement_start(text, lines[end].start)):
        end += 1
    while lines[end - 1].is_blank or lines[end - 1].is_comment:
        end -= 1
    if first and lines[first - 1].is_blank:
        first -= 1
    return lines[first].start, lines[end - 1].end


def root_end(text: str, lines: Sequence[Line]) -> int:
    """Find where the keys before all tables end, above the comment of the first table."""
    first = next(
        (
            index
            for index, line in enumerate(lines)
            if line.may_be_header and is_statement_start(text, line.start)
        ),
        None,
    )
    if first is None:
        return len(text)
    above = first
    while above and lines[above - 1].is_comment:
        above -= 1
    if not above:
        # A comment at the very top may be the whole file's.
        return lines[first].start
    while above and lines[above - 1].is_blank:
        above -= 1
    return lines[above].start
