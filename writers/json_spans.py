"""
Strict JSON text as a tree of spans, so that an edit can be made by splicing and all else stays.

What Python's `json` refuses is refused, and so are NaN, Infinity and duplicate keys, which no two readers
take alike. The scan keeps a stack of its own: no input can exhaust Python's.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from tokeneconomizer.writers.edits import JSON
from tokeneconomizer.writers.errors import Reason, WriteRefused

MAX_DEPTH: Final = 200
"""Levels of nesting. Settings have about six; `json`, which proves our edits, fails at some 900."""
MAX_TEXT_CHARACTERS: Final = 4 * 1024 * 1024
"""A settings file has a few thousand; above this a scan would take seconds."""
MAX_INTEGER_DIGITS: Final = 4300
"""Python's own limit for reading an integer."""

BYTE_ORDER_MARK: Final = "\ufeff"
WHITESPACE: Final = " \t\r\n"

_SPACE: Final = re.compile(r"[ \t\r\n]*+")
# Possessive, so that a long unclosed string is given up in one pass.
_STRING: Final = re.compile(
    r'"[^"\\\x00-\x1f]*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)"',
)
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD: Final = re.compile(r"true|false|null")
_WORDS: Final[dict[str, JSON]] = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class ScalarSpan:
    """A string, number, true, false or null."""

    start: int
    end: int
    value: JSON


@dataclass(frozen=True, slots=True)
class Member:
    """A key with its value; the key's span includes its quotes."""

    key: str
    start: int
    key_end: int
    span: "Span"

    @property
    def end(self) -> int:
        """Give the end of the member, which is that of its value."""
        return self.span.end


@dataclass(frozen=True, slots=True)
class ObjectSpan:
    """An object, from brace to brace."""

    start: int
    end: int
    members: tuple[Member, ...]
    value: JSON

    def find(self, key: str) -> Member | None:
        """Give the member of that key."""
        return next((member for member in self.members if member.key == key), None)


@dataclass(frozen=True, slots=True)
class ArraySpan:
    """An array, from bracket to bracket."""

    start: int
    end: int
    elements: tuple["Span", ...]
    value: JSON


Span: TypeAlias = ScalarSpan | ObjectSpan | ArraySpan


def scan(text: str) -> Span:
    """Give the spans of the document; offsets count from the start of the text, a BOM included."""
    if len(text) > MAX_TEXT_CHARACTERS:
        message = f"the text is longer than {MAX_TEXT_CHARACTERS} characters"
        raise WriteRefused(Reason.NOT_PARSABLE, message)
    return _Scanner(text).document()


def body_start(text: str) -> int:
    """Give the offset at which JSON begins: behind the byte order mark, if there is one."""
    return len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0


def spans_of(root: Span) -> Iterator[Span]:
    """Give the span and all spans in it, in the order of the text."""
    waiting = [root]
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(reversed(children(span)))


def children(span: Span) -> tuple[Span, ...]:
    """Give the spans of the values right inside a container; a scalar has none."""
    match span:
        case ObjectSpan(members=members):
            return tuple(member.span for member in members)
        case ArraySpan(elements=elements):
            return elements
        case ScalarSpan():
            return ()


@dataclass(slots=True)
class _OpenObject:
    """An object whose closing brace is still to come."""

    start: int
    closing: str = "}"
    key: tuple[str, int, int] = ("", 0, 0)
    members: dict[str, Member] = field(default_factory=dict)

    def take(self, span: Span) -> None:
        """Add the value that belongs to the key read last."""
        key, start, end = self.key
        self.members[key] = Member(key, start, end, span)

    def close(self, end: int) -> Span:
        """Make the finished span."""
        value = {key: member.span.value for key, member in self.members.items()}
        return ObjectSpan(self.start, end, tuple(self.members.values()), value)


@dataclass(slots=True)
class _OpenArray:
    """An array whose closing bracket is still to come."""

    start: int
    closing: str = "]"
    elements: list[Span] = field(default_factory=list)

    def take(self, span: Span) -> None:
        """Add an element."""
        self.elements.append(span)

    def close(self, end: int) -> Span:
        """Make the finished span."""
        return ArraySpan(self.start, end, tuple(self.elements), [span.value for span in self.elements])


class _Scanner:
    """One pass over one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = body_start(text)
        self.open: list[_OpenObject | _OpenArray] = []

    def document(self) -> Span:
        """Read one value and make sure that nothing follows it."""
        self.skip_space()
        while True:
            span = self.value_or_opening()
            while span is not None and self.open:
                span = self.hand_up(span)
            if span is not None:
                break
        self.skip_space()
        if self.at != len(self.text):
            self.refuse("something follows the end of the document")
        return span

    def value_or_opening(self) -> Span | None:
        """Read a scalar or an empty container; of a filled one only what comes before its first value."""
        start = self.at
        match self.peek():
            case "{":
                return self.enter(_OpenObject(start))
            case "[":
                return self.enter(_OpenArray(start))
            case '"':
                text = self.string()
                return ScalarSpan(start, self.at, text)
            case _:
                return self.number_or_word()

    def hand_up(self, span: Span) -> Span | None:
        """Give a finished value to its container; give that one back if it ends here."""
        container = self.open[-1]
        container.take(span)
        self.skip_space()
        if self.peek() == container.closing:
            return self.leave()
        if self.peek() != ",":
            self.refuse(f"a comma or {container.closing} is missing")
        self.go_on_behind_sign()
        if isinstance(container, _OpenObject):
            self.key(container)
        return None

    def enter(self, container: _OpenObject | _OpenArray) -> Span | None:
        """Open a container, and close it if it is empty."""
        if len(self.open) == MAX_DEPTH:
            self.refuse(f"it is nested deeper than {MAX_DEPTH} levels")
        self.open.append(container)
        self.go_on_behind_sign()
        if self.peek() == container.closing:
            return self.leave()
        if isinstance(container, _OpenObject):
            self.key(container)
        return None

    def leave(self) -> Span:
        """Close the innermost container."""
        self.at += 1
        return self.open.pop().close(self.at)

    def key(self, container: _OpenObject) -> None:
        """Read a key up to the start of its value."""
        start = self.at
        if self.peek() != '"':
            self.refuse("a key in double quotes is missing")
        key = self.string()
        if key in container.members:
            self.refuse("the key before this place stands twice in its object")
        container.key = (key, start, self.at)
        self.skip_space()
        if self.peek() != ":":
            self.refuse("a colon is missing")
        self.go_on_behind_sign()

    def go_on_behind_sign(self) -> None:
        """Step over one sign and the white space behind it."""
        self.at += 1
        self.skip_space()

    def string(self) -> str:
        """Read a string."""
        found = _STRING.match(self.text, self.at)
        if found is None:
            self.refuse("a string is not closed, or holds a wrong escape or a raw control character")
        self.at = found.end()
        raw = found.group()
        return str(json.loads(raw)) if "\\" in raw else raw[1:-1]

    def number_or_word(self) -> ScalarSpan:
        """Read a number, true, false or null."""
        start = self.at
        if word := _WORD.match(self.text, start):
            self.at = word.end()
            return ScalarSpan(start, self.at, _WORDS[word.group()])
        number = _NUMBER.match(self.text, start)
        if number is None:
            self.refuse("a value is missing or is not JSON")
        self.at = number.end()
        if number.group(2, 3) != (None, None):
            return ScalarSpan(start, self.at, float(number.group()))
        if len(number.group(1)) > MAX_INTEGER_DIGITS:
            self.refuse(f"a number has more than {MAX_INTEGER_DIGITS} digits")
        return ScalarSpan(start, self.at, int(number.group()))

    def peek(self) -> str:
        """Give the next character, or nothing at the end."""
        return self.text[self.at : self.at + 1]

    def skip_space(self) -> None:
        """Go to the next character that is not white space."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def refuse(self, what: str) -> NoReturn:
        """Say where the text is wrong, without repeating any of it: it may hold secrets."""
        before = self.text[: self.at].replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise WriteRefused(Reason.NOT_PARSABLE, f"line {line}, column {column}: {what}")
