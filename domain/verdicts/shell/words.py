"""The words of a command: quotes removed, known variables filled in, the code inside them found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.tree import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.verdicts.shell.tree import Node

SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_IN_DOUBLE_QUOTES = re.compile(r"\\([\\\"$`\n])|\$(?:\{(\w+)\}|(\w+))")
_ANSI_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ANSI_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b"}
_SUBSTITUTION_MARKS = ("`", "$(", "<(", ">(")


def _unescaped(found: re.Match[str]) -> str:
    character = found.group(1)
    return "" if character == "\n" else character


def _double_quoted(text: str, variables: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found.group(1):
            return _unescaped(found)
        return variables.get(found.group(2) or found.group(3), found.group())

    return _IN_DOUBLE_QUOTES.sub(value, text)


def _piece_text(node: Node, variables: Mapping[str, str]) -> str:
    kind = node.type
    text = text_of(node)
    if kind == "word":
        return _ESCAPE.sub(_unescaped, text) if "\\" in text else text
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        inner = text[1:-1]
        return _double_quoted(inner, variables) if "$" in inner or "\\" in inner else inner
    if kind == "ansi_c_string":
        return _ANSI_ESCAPE.sub(
            lambda found: _ANSI_CHARACTERS.get(found.group(1), found.group(1)), text[2:-1]
        )
    if kind in {"simple_expansion", "expansion"}:
        return variables.get(text[1:].strip("{}"), text)
    return text


def word_text(node: Node, variables: Mapping[str, str]) -> str:
    """Give a word as the program sees it."""
    if node.type == "concatenation":
        return "".join(_piece_text(part, variables) for part in node.children)
    return _piece_text(node, variables)


def substitutions(node: Node) -> list[Node]:
    """Find the outermost `$(…)`, backticks and `<(…)` in a node, in the order of the text."""
    text = text_of(node)
    if not any(mark in text for mark in _SUBSTITUTION_MARKS):
        return []
    found: list[Node] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.type in SUBSTITUTIONS:
            found.append(part)
        else:
            waiting.extend(reversed(part.children))
    return found
