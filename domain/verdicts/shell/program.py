"""Program, module and arguments of a command without wrappers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import base_name, is_option

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:-dbg)?w?|py")
_PYTHON_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})
PYTHON_MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m")


def python_module(words: Sequence[str]) -> tuple[str, list[str]]:
    """Give the module that python runs and its arguments; an empty module for a script or code."""
    position = 0
    while position < len(words) and is_option(words[position]):
        word = words[position]
        if PYTHON_MODULE.fullmatch(word) and position + 1 < len(words):
            return words[position + 1], list(words[position + 2 :])
        if word in {"-c", "--"}:
            break
        position += 2 if word in _PYTHON_VALUED else 1
    return "", list(words)


def program_of(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """Give program, module and arguments of a command without wrappers."""
    name = words[0] if words[0].startswith("@") else base_name(words[0])
    if PYTHON.fullmatch(name):
        return "python", *python_module(words[1:])
    return name, "", list(words[1:])


def executed_by_find(words: Sequence[str]) -> list[list[str]]:
    """Give the commands that `find` runs with -exec."""
    commands: list[list[str]] = []
    current: list[str] | None = None
    for word in words:
        if current is not None:
            if word in {";", "+"}:
                commands.append(current)
                current = None
            else:
                current.append(word)
        elif word in {"-exec", "-execdir", "-ok"}:
            current = []
    if current:
        commands.append(current)
    return [command for command in commands if command]
