"""How a JSON text is laid out, learned from it, so that what is added looks like what is there."""

import json
import re
from dataclasses import dataclass
from typing import Final

from tokeneconomizer.writers.edits import JSON
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_spans import (
    WHITESPACE,
    ArraySpan,
    Member,
    ObjectSpan,
    Span,
    body_start,
    spans_of,
)

DEFAULT_INDENT: Final = "  "
"""What Claude Code itself writes."""
DEFAULT_COLON: Final = ": "

_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Layout:
    """The habits of one document."""

    line_break: str = "\n"
    indent: str = DEFAULT_INDENT
    colon: str = DEFAULT_COLON

    @property
    def gap(self) -> str:
        """Give what follows a comma on one line: a blank where a colon has one."""
        return " " if self.colon.endswith(" ") else ""

    def render(self, value: JSON, base: str | None) -> str:
        """Write a value: over several lines below a line with the indent `base`, or on one if None."""
        indent = None if base is None else self.indent
        comma = f",{self.gap}" if base is None else ","
        try:
            text = json.dumps(
                value,
                ensure_ascii=False,
                allow_nan=False,
                indent=indent,
                separators=(comma, self.colon),
            )
        except (RecursionError, ValueError) as error:
            message = "the value to be written has no form in JSON"
            raise WriteRefused(Reason.UNPROVEN_EDIT, message) from error
        # UTF-8 has no form for half a pair; escaped it can be written.
        text = _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)
        return text if base is None else text.replace("\n", self.line_break + base)

    def render_member(self, key: str, value: JSON, base: str | None) -> str:
        """Write a key with its value."""
        return self.render(key, None) + self.colon + self.render(value, base)


def line_break_of(text: str) -> str:
    """Give the text's own line break; strict JSON has none within strings."""
    found = _LINE_BREAK.search(text)
    return found.group() if found else "\n"


def layout_of(text: str, root: Span) -> Layout:
    """Learn the habits of a document."""
    return Layout(line_break_of(text), _indent_of(text, root), _colon_of(text, root))


def space_before(text: str, at: int) -> str:
    """Give the white space right before the offset."""
    start = at
    while start > 0 and text[start - 1] in WHITESPACE:
        start -= 1
    return text[start:at]


def own_line_indent(text: str, at: int) -> str | None:
    """Give the indent of an entry that begins its line; None if something stands before it."""
    space = space_before(text, at)
    breaks = [found.end() for found in _LINE_BREAK.finditer(space)]
    return space[breaks[-1] :] if breaks else None


def line_indent(text: str, at: int) -> str:
    """Give the indent of the line in which the offset lies."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 or body_start(text)
    end = start
    while end < at and text[end] in " \t":
        end += 1
    return text[start:end]


def entries(span: Span) -> tuple[Member | Span, ...]:
    """Give the members of an object or the elements of an array, each with its start and end."""
    match span:
        case ObjectSpan(members=members):
            return members
        case ArraySpan(elements=elements):
            return elements
        case _:
            return ()


def _indent_of(text: str, root: Span) -> str:
    """Give what the first container with lines of its own adds to the indent of the line it opens in."""
    for span in spans_of(root):
        for entry in entries(span)[:1]:
            inner = own_line_indent(text, entry.start)
            outer = line_indent(text, span.start)
            if inner is not None and inner.startswith(outer) and inner != outer:
                return inner[len(outer) :]
    return DEFAULT_INDENT


def _colon_of(text: str, root: Span) -> str:
    for span in spans_of(root):
        if isinstance(span, ObjectSpan) and span.members:
            first = span.members[0]
            colon = text[first.key_end : first.span.start]
            return DEFAULT_COLON if _LINE_BREAK.search(colon) else colon
    return DEFAULT_COLON
