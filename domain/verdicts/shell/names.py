"""Names of programs and paths, and where the options of a command end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN_PATH = "?"
# Stands for a word that brackets of PowerShell compute.
COMPUTED = "(…)"

_NONE: frozenset[str] = frozenset()
_WINDOWS_EXTENSIONS = (".exe", ".cmd", ".bat")


def word_set(text: str) -> frozenset[str]:
    """Give the words of a text: tables of names read better without a quote around each."""
    return frozenset(text.split())


def is_option(word: str) -> bool:
    """Whether a word is an option: a lone `-` stands for the standard input."""
    return len(word) > 1 and word[0] == "-"


def operand_position(words: Sequence[str], valued: frozenset[str] = _NONE, start: int = 0) -> int:
    """Where the first word stands that is neither an option nor an option's value; the length if none."""
    position = start
    while position < len(words):
        word = words[position]
        if word == "--":
            return position + 1
        if not is_option(word):
            return position
        position += 2 if word in valued else 1
    return len(words)


def operands(words: Sequence[str], valued: frozenset[str] = _NONE) -> list[str]:
    """Give the words that are neither options nor values of options."""
    found: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return [*found, *words[position + 1 :]]
        if not is_option(word):
            found.append(word)
        elif word in valued:
            position += 1
        position += 1
    return found


def base_name(word: str) -> str:
    """Give the name of a program without its path and the extensions of Windows."""
    if word.endswith(("}", ")", "`")):
        return word
    name = word.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or word
    lower = name.lower()
    for extension in _WINDOWS_EXTENSIONS:
        if lower.endswith(extension) and len(name) > len(extension):
            return name[: -len(extension)]
    return name


def is_absolute(path: str) -> bool:
    """Whether a path does not depend on the working folder (also Windows, home and variables)."""
    return path.startswith(("/", "~", "$", "\\")) or path[1:2] == ":"


def join_path(folder: str, path: str) -> str:
    """Give a path as seen from where the call began."""
    path = path.removeprefix("./")
    if not folder or path == UNKNOWN_PATH or is_absolute(path):
        return path
    return f"{folder.rstrip('/')}/{path}"
