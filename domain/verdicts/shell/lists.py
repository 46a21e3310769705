"""
The lists and pipelines of a stretch of shell code, in the order of the text.

The grammar nests `list`, `pipeline`, `redirected_statement` and `negated_command` in ways that are not bash's
(a redirection of `a && b > f` spans both). In the order of the text all is there, so it is put together anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokeneconomizer.domain.verdicts.shell.tree import Node

REDIRECTIONS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})

_GROUPS = frozenset({"list", "pipeline", "redirected_statement", "negated_command"})
_SEPARATORS = frozenset({";", "&", ";;", ";&", ";;&", "\n"})


@dataclass(slots=True)
class Element:
    """One command of a pipeline; without a node it only redirects."""

    node: Node | None
    redirections: list[Node] = field(default_factory=list)
    pipes_errors: bool = False


@dataclass(slots=True)
class Pipeline:
    """Commands joined by pipes."""

    elements: list[Element] = field(default_factory=list)
    negated: bool = False


@dataclass(slots=True)
class AndOrList:
    """Pipelines joined by `&&` and `||`: connector n stands between pipelines n and n + 1."""

    pipelines: list[Pipeline] = field(default_factory=lambda: [Pipeline()])
    connectors: list[str] = field(default_factory=list)
    background: bool = False

    @property
    def only_element(self) -> Element | None:
        """The single command of the list, if it is one."""
        if len(self.pipelines) == 1 and len(self.pipelines[0].elements) == 1:
            return self.pipelines[0].elements[0]
        return None


def _in_text_order(nodes: Iterable[Node]) -> Iterator[Node]:
    waiting = list(nodes)
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        if node.type in _GROUPS:
            waiting.extend(reversed(node.children))
        else:
            yield node


@dataclass(slots=True)
class _Builder:
    lists: list[AndOrList] = field(default_factory=list)
    current: AndOrList = field(default_factory=AndOrList)
    expecting: bool = True

    def take(self, node: Node) -> None:
        kind = node.type
        if kind in REDIRECTIONS:
            self._redirect(node)
        elif node.is_named:
            if kind != "comment":
                self._element(node)
        elif kind in {"&&", "||"}:
            self.current.connectors.append(kind)
            self.current.pipelines.append(Pipeline())
            self.expecting = True
        elif kind in {"|", "|&"}:
            if self.current.pipelines[-1].elements:
                self.current.pipelines[-1].elements[-1].pipes_errors = kind == "|&"
            self.expecting = True
        elif kind == "!":
            self._begin()
            self.current.pipelines[-1].negated ^= True
            self.expecting = True
        elif kind in _SEPARATORS:
            self.finish(background=kind == "&")

    def _redirect(self, node: Node) -> None:
        if self.expecting:
            self._element(None)
        self.current.pipelines[-1].elements[-1].redirections.append(node)

    def _element(self, node: Node | None) -> None:
        self._begin()
        self.current.pipelines[-1].elements.append(Element(node))
        self.expecting = False

    def _begin(self) -> None:
        # Two commands without an operator between them stand on two lines.
        if not self.expecting:
            self.finish(background=False)

    def finish(self, *, background: bool) -> None:
        if self.current.pipelines[0].elements:
            self.current.background = background
            self.lists.append(self.current)
        self.current = AndOrList()
        self.expecting = True


def read_lists(nodes: Iterable[Node]) -> list[AndOrList]:
    """Put the lists together that stand in a stretch of code; brackets and keywords around it are skipped."""
    builder = _Builder()
    for node in _in_text_order(nodes):
        builder.take(node)
    builder.finish(background=False)
    return builder.lists
