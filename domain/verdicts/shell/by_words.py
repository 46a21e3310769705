"""Reads a text that is no valid command, or too large to parse: the words of each simple command, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.shell_words import argument_positions, tokens_of, word_pieces

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.shell.context import Context, Shell
    from tokeneconomizer.domain.verdicts.shell.invoke import Invoker

# What a reader of a text that large could still say is not worth its time.
WORD_CHARACTERS_MAX = 16_384

_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "while", "until", "do", "time", "!", "{", "}", "fi", "done", "esac"}
)


def read_by_words(invoker: Invoker, text: str, context: Context, shell: Shell) -> None:
    """Note the simple commands of a text; nothing is said about its exit code."""
    invoker.record.parsed = False
    text = text[:WORD_CHARACTERS_MAX]
    tokens = tokens_of(text)
    guess = context.unsure()._replace(input_text="")
    for positions in argument_positions(text):
        words = [
            "".join(piece.text for piece in word_pieces(tokens[position].text)) for position in positions
        ]
        while words and (words[0] in _KEYWORDS or _assigns(words[0])):
            words.pop(0)
        if words:
            invoker.invoke(words, guess, shell)


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
