"""The syntax tree of a bash command: the one place that meets the parser."""

from __future__ import annotations

import re
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

__all__ = ["Node", "parse", "text_of"]

# The parser needs quadratic time for rows of unfinished pipes and brackets, and cannot be stopped by a count
# of its steps: beyond these a text is read by words. The largest of 2148 recorded commands has 2172
# characters without its heredocs, and fewer than 150 of these marks.
PARSED_CHARACTERS_MAX = 4_096
PARSED_MARKS_MAX = 300

_MARKS = re.compile(r"[|&;()<`]")
# Bash drops NUL, and the grammar reads other control characters as errors, one search each.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

# The grammar (0.25) looks for `{1..3}` with C's `isdigit`, which may read any memory for a character beyond
# ASCII: one in a place where it asks for a digit has ended the process.
_NO_DIGIT_IN_BRACES = re.compile(r"\{\d*(?:\.\.?\d*)?[^\x00-\x7f]")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Node | None:
    """Give the root of the tree; None when the text is no valid command or too large to parse."""
    if len(text) > PARSED_CHARACTERS_MAX or len(_MARKS.findall(text)) > PARSED_MARKS_MAX:
        return None
    tidy = _CONTROLS.sub("", text)
    if _NO_DIGIT_IN_BRACES.search(tidy):
        return None
    root = _parser().parse(tidy.encode("utf-8", "replace")).root_node
    return None if root.has_error else root


def text_of(node: Node) -> str:
    """Give the text that a node covers."""
    return (node.text or b"").decode("utf-8", "replace")
