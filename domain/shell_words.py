"""
A command line as tokens: enough of the shell's grammar to tell programs, arguments and quotes apart.

The lexer never fails and never loses a character: the texts of its tokens joined give the command again.
Where a command is malformed (a quote that does not end), the rest counts as quoted, the safe reading.
"""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

TEXT = "<text>"
CODE = "<code>"
PATTERN = "<pattern>"
HIDDEN = "<secret>"
VALUE = "<value>"
CUT = "…"
EMPTY_WORD = "''"

_NAMES = r"(?:text|code|pattern|secret|value)>"
PLACEHOLDER = f"<{_NAMES}"


class Kind(StrEnum):
    """What a token is."""

    SPACE = "space"
    NEWLINE = "newline"
    COMMENT = "comment"
    MARK = "mark"
    OPERATOR = "operator"
    DUPLICATE = "duplicate"
    REDIRECT = "redirect"
    WORD = "word"


class Token(NamedTuple):
    """One piece of a command line, as it was written."""

    kind: Kind
    text: str


_SPACE, _NEWLINE, _OPERATOR, _REDIRECT, _WORD = (
    Kind.SPACE,
    Kind.NEWLINE,
    Kind.OPERATOR,
    Kind.REDIRECT,
    Kind.WORD,
)
_SINGLE_SPACE = Token(Kind.SPACE, " ")
_LINE_BREAK = Token(Kind.NEWLINE, "\n")


class Piece(NamedTuple):
    """A part of a word: bare, or the inside of a pair of quotes."""

    quote: str
    text: str


# Possessive quantifiers (`++`) keep every match linear: nothing is given back, so nothing is tried twice.
_BARE = rf"(?>(?:[^\s|&;()<>`\"'\\$]++|\\(?!\n).?|\$(?![(\"'])|{PLACEHOLDER})+)"
_SEPARATORS = re.compile(
    rf"""(?P<space>(?>(?:[^\S\n]|\\\n)+))
    |(?P<newline>\n)
    |(?P<comment>\#[^\n]*+)
    |(?P<mark>…(?:\(\d{{1,9}}\ lines\))?(?=[\s;|&)]|$))
    |(?P<bare>(?={PLACEHOLDER}){_BARE})
    |(?P<operator>[<>]\(|\$\(|\|\||\|&|&&|;;|[|;()`]|&(?!>))
    |(?P<duplicate>\d*+[<>]&(?:\d++|-))
    |(?P<redirect>\d*+(?:<{{3}}(?!{_NAMES})|<{{2}}(?!{_NAMES})-?|<>|>>|>\||[<>]&?)|&>>?)
    |(?P<word>(?=.))""",
    re.VERBOSE | re.DOTALL,
)
# Most of a command, told in one step: words without any sign of the shell's, and single spaces.
_PLAIN = re.compile(r"(?P<word>[A-Za-z0-9_./:=@%+,~^-]++(?=[ \n]|\Z))?(?P<space>[ ](?![^\S\n]|\\\n)|\n|\Z)")
_KINDS = {kind.value: kind for kind in Kind}
_BARE_RUN = re.compile(_BARE, re.DOTALL)
_SINGLE = re.compile(r"'[^']*+'?")
_PLAIN_DOUBLE = re.compile(r'"[^"\\$]*+"')
_NESTING = re.compile(r"\\.?|\$\(|[\"'()]", re.DOTALL)


def _double_quoted_end(text: str, start: int) -> int:
    """Where the double-quoted string that starts here ends, with the `$( … )` inside it."""
    plain = _PLAIN_DOUBLE.match(text, start)
    if plain:
        return plain.end()
    open_marks = ['"']
    position = start + 1
    while open_marks:
        found = _NESTING.search(text, position)
        if not found:
            return len(text)
        position = found.end()
        mark = found.group()
        if open_marks[-1] == '"':
            if mark == '"':
                open_marks.pop()
            elif mark == "$(":
                open_marks.append("(")
        elif mark == ")":
            open_marks.pop()
        elif mark == "'":
            closing = text.find("'", position)
            position = len(text) if closing < 0 else closing + 1
        elif mark in {'"', "(", "$("}:
            open_marks.append(mark[-1])
    return position


def _pieces(text: str, start: int) -> Iterator[tuple[Piece, int]]:
    """Yield the pieces of the word at a position, each with where it ends."""
    position = start
    while position < len(text):
        bare = _BARE_RUN.match(text, position)
        if bare:
            position = bare.end()
            yield Piece("", bare.group()), position
            continue
        dollar = text[position] == "$" and text[position + 1 : position + 2] in {"'", '"'}
        opening = position + dollar
        quote = text[opening]
        if quote == "'":
            single = _SINGLE.match(text, opening)
            position = single.end() if single else len(text)
        elif quote == '"':
            position = _double_quoted_end(text, opening)
        else:
            return
        inside = text[opening + 1 : position]
        yield Piece(quote, inside.removesuffix(quote)), position


def word_pieces(word: str) -> list[Piece]:
    """Part a word into what is bare and what is quoted."""
    return [piece for piece, _ in _pieces(word, 0)]


# A chain of steps asks again and again for one command, seldom changed in between; the newest alone is kept.
@lru_cache(maxsize=1)
def tokens_of(command: str) -> tuple[Token, ...]:
    """Part a command line into tokens; joined they are the command again."""
    tokens: list[Token] = []
    position = 0
    while position < len(command):
        plain = _PLAIN.match(command, position)
        if plain:
            position = plain.end()
            word, space = plain.groups()
            if word:
                tokens.append(Token(_WORD, word))
            if space:
                tokens.append(_LINE_BREAK if space == "\n" else _SINGLE_SPACE)
            continue
        found = _SEPARATORS.match(command, position)
        kind = found.lastgroup if found else None
        end = found.end() if found else position
        if kind in {None, "word", "bare"}:
            kind = "word"
            end = position
            for _, piece_end in _pieces(command, position):
                end = piece_end
            # A character that starts nothing (a stray one) is a word of its own.
            end = max(end, position + 1)
        tokens.append(Token(_KINDS[kind], command[position:end]))
        position = end
    return tuple(tokens)


@lru_cache(maxsize=1)
def argument_positions(command: str) -> tuple[tuple[int, ...], ...]:
    """Where among the tokens the words of each simple command stand: without targets of redirections."""
    commands: list[list[int]] = [[]]
    after_redirect = False
    # Compared by identity: hashing the member of an enumeration takes longer than the rest of the loop.
    for position, (kind, _) in enumerate(tokens_of(command)):
        if kind is _SPACE:
            continue
        if kind is _WORD:
            if not after_redirect:
                commands[-1].append(position)
        elif kind is _OPERATOR or kind is _NEWLINE:
            commands.append([])
        after_redirect = kind is _REDIRECT
    return tuple(tuple(positions) for positions in commands if positions)


def rewrite_commands(command: str, rewrite: Callable[[list[str]], list[str]]) -> str:
    """
    Give the words of each simple command to a rule and put its answer in their place.

    The rule answers with as many words as it was given; an empty one is dropped with the space before it.
    """
    tokens = tokens_of(command)
    texts: list[str] = []
    for positions in argument_positions(command):
        words = [tokens[position].text for position in positions]
        rewritten = rewrite(words)
        if rewritten == words:
            continue
        texts = texts or [token.text for token in tokens]
        for position, word in zip(positions, rewritten, strict=True):
            texts[position] = word
            if not word and position and tokens[position - 1].kind is Kind.SPACE:
                texts[position - 1] = ""
    return "".join(texts) if texts else command
