"""
How `te` speaks: words go to stderr, data to stdout; colour and tables in a terminal, plain text in a pipe.

rich is imported only where a terminal is there to show it: it takes longer to load than most commands run.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.progress import Task
    from rich.table import Table as Drawing

DISTRIBUTION = "tokeneconomizer"

COLUMN_GAP = "  "

NARROW_CHARACTERS = 80
"""In less, columns side by side leave a word or two for each line of a cell."""

NARROW_TABLE_COLUMNS = 4
"""So many columns are shown as a list per row where the terminal is narrow."""

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"

DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c")
"""They would show a line in another order than it is."""

STYLES = {"good": "green", "bad": "bold red", "doubtful": "yellow", "quiet": "dim", "": ""}
"""What a cell means -> how a terminal shows it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """
    One cell of a table.

    Attributes:
        text: what it says.
        meaning: a key of STYLES.

    """

    text: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """
    Rows of data.

    Attributes:
        title: what the rows are; may be empty.
        headings: one per column; empty for a list of names and values.
        rows: as many cells as there are headings.

    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]


def say(text: str) -> None:
    """Say words, which are never data."""
    click.echo(printable(text, keep="\n"), err=True)


def print_json(value: object) -> None:
    """Print one JSON value."""
    click.echo(_json(value))


def print_json_lines(values: Iterable[object]) -> None:
    """Print JSON Lines as the values come; what was given before an error is printed."""
    out = sys.stdout.buffer
    try:
        for value in values:
            out.write(_json(value) + b"\n")
    finally:
        out.flush()


def print_styled(text: str, meaning: str) -> None:
    """Print lines of data, coloured in a terminal; `meaning` is a key of STYLES."""
    if not sys.stdout.isatty():
        click.echo(printable(text, keep="\n"))
        return
    from rich.console import Console  # noqa: PLC0415 - see the module's docstring
    from rich.text import Text  # noqa: PLC0415

    Console(highlight=False).print(Text(printable(text, keep="\n"), style=STYLES[meaning]))


def print_data(*tables: Table) -> None:
    """Print tables: drawn in a terminal, aligned by blanks elsewhere."""
    if sys.stdout.isatty():
        _draw(tables)
        return
    for number, table in enumerate(tables):
        lines = plain_lines(table)
        click.echo("\n".join(["", *lines] if number else lines))


def plain_lines(table: Table) -> list[str]:
    """Return a table as lines without tabs or colour."""
    rows = [[printable(_cell(cell).text) for cell in row] for row in table.rows]
    shown = [list(table.headings), *rows] if any(table.headings) else rows
    columns = len(shown[0]) if shown else 0
    widths = [max(width_of(row[column]) for row in shown) for column in range(columns)]
    lines = [table.title] if table.title else []
    for row in shown:
        padded = [text + " " * (width - width_of(text)) for text, width in zip(row, widths, strict=True)]
        lines.append(COLUMN_GAP.join(padded).rstrip())
    return lines


def width_of(text: str) -> int:
    """Return how many columns of a terminal the text takes; Chinese characters take two."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def printable(text: str, keep: str = "") -> str:
    """Return the text without what would move a terminal's cursor or change its colours."""
    if text.isprintable():
        return text
    return "".join(
        UNPRINTABLE
        if (unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in DIRECTION_MARKS)
        and character not in keep
        else character
        for character in text
    )


def local_time(moment: str | None) -> str:
    """Return an ISO 8601 time as the user's clock shows it, to the second; empty when there is none."""
    if not moment:
        return ""
    try:
        return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return moment


def program_version() -> str:
    """Return this program's version."""
    from importlib.metadata import version  # noqa: PLC0415 - slow to import, rarely needed

    return version(DISTRIBUTION)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """
    Show a bar on stderr for the time of the block, when a person can see it.

    Yields:
        what to call with the number of further steps done.

    """
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    from rich.console import Console  # noqa: PLC0415 - see the module's docstring
    from rich.progress import Progress, ProgressColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.finished_speed or task.speed or 0:,.0f}/s", STYLES["quiet"])

    columns = (*Progress.get_default_columns(), Rate())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def positions_shown(what: str, first: int, last: int) -> Iterator[Callable[[int], None]]:
    """
    Show such a bar over positions of the log.

    Yields:
        what to call with the newest position done.

    """
    done = first
    with progress(what, last - first) as advance:

        def tell(position: int) -> None:
            nonlocal done
            advance(position - done)
            done = position

        yield tell


def make_streams_tolerant() -> None:
    """Let a character that the terminal's encoding lacks be escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Send what is left of the output nowhere, because its reader is gone."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _json(value: object) -> bytes:
    # A lone surrogate has no UTF-8 form; its escape is valid JSON.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def _cell(cell: Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _draw(tables: Sequence[Table]) -> None:
    from rich.console import Console  # noqa: PLC0415 - see the module's docstring
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        if len(table.headings) < NARROW_TABLE_COLUMNS or console.width >= NARROW_CHARACTERS:
            console.print(_drawing(table.headings, table.rows))
            continue
        for row_number, row in enumerate(table.rows):
            if row_number:
                console.print()
            pairs = zip(table.headings, row, strict=True)
            console.print(_drawing((), [[Cell(heading, "quiet"), cell] for heading, cell in pairs]))


def _drawing(headings: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> Drawing:
    from rich import box  # noqa: PLC0415 - see the module's docstring
    from rich.table import Table as Drawing  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawing = Drawing(show_header=bool(headings), box=box.SIMPLE_HEAD if headings else None, pad_edge=False)
    columns = len(headings or (rows[0] if rows else ()))
    for heading in headings or [""] * columns:
        drawing.add_column(Text(heading), overflow="fold")
    for row in rows:
        cells = map(_cell, row)
        drawing.add_row(*(Text(printable(cell.text), STYLES[cell.meaning]) for cell in cells))
    return drawing
