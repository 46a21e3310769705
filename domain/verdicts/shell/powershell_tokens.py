"""The tokens of PowerShell: words with their quotes removed, operators, redirections."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>(?>(?:[^\S\n]|`\r?\n)+))
    |(?P<comment>\#[^\n]*+)
    |(?P<block><\#)
    |(?P<here>@(?P<here_quote>["'])[^\S\n]*+\n)
    |(?P<redirect>[\d*]?>>?(?:&\d)?)
    |(?P<operator>&&|\|\||[|;&(){}\n])
    |(?P<word>(?=.))""",
    re.VERBOSE | re.DOTALL,
)
# A `>` or `#` inside a word belongs to it only where it cannot begin a token: `a>b` redirects.
_BARE = re.compile(r"(?>(?:[^\s|;&(){}'\"`>]|`(?!\r?\n).)+)", re.DOTALL)
_SINGLE = re.compile(r"'((?>(?:[^']|'')*))'?")
_DOUBLE = re.compile(r'"((?>(?:[^"`]|`.|"")*))"?', re.DOTALL)
_BACKTICK = re.compile(r"`(.)", re.DOTALL)


class Kind(StrEnum):
    """What a token is."""

    WORD = "word"
    REDIRECT = "redirect"
    OPERATOR = "operator"


class Token(NamedTuple):
    """A token; `quoted`: the word begins with a quote, so it is a value and no name of a command."""

    kind: Kind
    text: str
    quoted: bool = False


def _word(text: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    position = start
    while position < len(text):
        bare = _BARE.match(text, position)
        if bare:
            parts.append(_BACKTICK.sub(r"\1", bare.group()))
            position = bare.end()
            continue
        pattern, doubled = (_SINGLE, "''") if text[position] == "'" else (_DOUBLE, '""')
        quoted = pattern.match(text, position)
        if not quoted:
            break
        inside = quoted.group(1).replace(doubled, doubled[0])
        parts.append(inside if doubled == "''" else _BACKTICK.sub(r"\1", inside))
        position = quoted.end()
    if position == start:
        return text[start], start + 1
    return "".join(parts), position


def powershell_tokens(text: str) -> list[Token]:
    """Part a text into tokens; spaces and comments are left out."""
    tokens: list[Token] = []
    position = 0
    while found := _TOKEN.match(text, position):
        kind = found.lastgroup
        position = found.end()
        if kind == "block":
            position = _after(text, "#>", position)
        elif kind == "here":
            end = _after(text, f"\n{found['here_quote']}@", position - 1)
            tokens.append(Token(Kind.WORD, text[position : max(position, end - len("\n'@"))], quoted=True))
            position = end
        elif kind == "word":
            quoted = text[position] in {"'", '"'}
            word, position = _word(text, position)
            tokens.append(Token(Kind.WORD, word, quoted))
        elif kind in {Kind.REDIRECT, Kind.OPERATOR}:
            tokens.append(Token(Kind(kind), found.group()))
    return tokens


def _after(text: str, mark: str, start: int) -> int:
    end = text.find(mark, start)
    return len(text) if end < 0 else end + len(mark)
