"""
Reads bash: walks the syntax tree in the order of execution.

Nothing recurses over the text: what is still to be read waits on a stack, whose top is read next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from tokeneconomizer.domain.verdicts.shell.lists import REDIRECTIONS, Element, read_lists
from tokeneconomizer.domain.verdicts.shell.names import word_set
from tokeneconomizer.domain.verdicts.shell.status import (
    deciding_lists,
    ends_in_exit,
    pipeline_share,
    status_share,
    stops_on_failure,
)
from tokeneconomizer.domain.verdicts.shell.streams import Redirected, Stream, redirect
from tokeneconomizer.domain.verdicts.shell.tree import text_of
from tokeneconomizer.domain.verdicts.shell.words import substitutions, word_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokeneconomizer.domain.verdicts.shell.context import Context, Shell
    from tokeneconomizer.domain.verdicts.shell.invoke import Invoker
    from tokeneconomizer.domain.verdicts.shell.lists import AndOrList, Pipeline
    from tokeneconomizer.domain.verdicts.shell.tree import Node

# Functions that call functions multiply the work; a command of the largest size takes far fewer steps.
STEPS_MAX = 20_000

_PRINTS_ITS_WORDS = frozenset({"echo", "printf"})
_LOOP_BODIES = frozenset({"do_group", "compound_statement"})
_SURE_VALUES = frozenset({"word", "number", "string", "raw_string", "concatenation"})
# Where the grammar takes one of these for a program (`! if …`, `time { … }`) it lost the structure.
_RESERVED = word_set("if then else elif fi do done case esac while until for select function { } [[ !")
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})


def _passes_on(element: Element) -> bool:
    """`cat <<EOF | bash`: the text reaches the next program."""
    return bool(element.node and text_of(element.node).startswith("cat"))


@dataclass(slots=True)
class BashReader:
    """Reads one tree into a record; `bodies` are the heredocs that were lifted out of its text."""

    invoker: Invoker
    bodies: tuple[str, ...] = ()
    waiting: list[Callable[[], None]] = field(default_factory=list)
    misread: bool = False

    def read(self, root: Node, context: Context, shell: Shell) -> bool:
        """Read everything that the tree runs; False when the tree proves to be misread."""
        self._scope(root.children, context, shell)
        steps = 0
        while self.waiting and steps < STEPS_MAX and not self.misread and not self.invoker.record.full:
            self.waiting.pop()()
            steps += 1
        if self.waiting:
            self.invoker.record.parsed = False
        return not self.misread

    def _next(self, steps: Sequence[Callable[[], None]]) -> None:
        self.waiting.extend(reversed(steps))

    def _scope(self, nodes: Sequence[Node], context: Context, shell: Shell) -> None:
        lists = read_lists(nodes)
        deciding = deciding_lists(lists)
        self._next(
            [
                partial(self._list, item, context, shell, deciding.get(position))
                for position, item in enumerate(lists)
            ],
        )

    def _list(self, item: AndOrList, context: Context, shell: Shell, deciding: bool | None) -> None:  # noqa: FBT001 — a step's argument: None: no part in the exit code; True: the first of a pipeline alone
        exits = ends_in_exit(item)
        errexit = shell.errexit and not context.tested
        # With errexit the shell ends before the `exit`, with the code of the whole pipeline.
        deciding = None if deciding and errexit else deciding
        stops = exits or (errexit and stops_on_failure(item) and not shell.functions)
        if item.background or (deciding is None and not stops):
            context = context.without_status()
        steps: list[Callable[[], None]] = []
        for position, pipeline in enumerate(item.pipelines):
            decides, needed = status_share(item, position, exits=exits)
            steps.append(
                partial(
                    self._pipeline,
                    pipeline,
                    context._replace(
                        decides=context.decides and decides and deciding is not None,
                        needed=context.needed and needed,
                        guarded=context.guarded or position > 0,
                        tested=context.tested or pipeline.negated or position < len(item.connectors),
                    ),
                    shell,
                    deciding is True,
                ),
            )
        if shell.errexit and not item.background:
            steps.append(shell.may_end)
        self._next(steps)

    def _pipeline(self, pipeline: Pipeline, context: Context, shell: Shell, first_only: bool) -> None:  # noqa: FBT001 — a step's argument
        if shell.may_have_ended and not context.guarded:
            context = context._replace(guarded=True)
        shares = pipeline_share(pipeline, pipefail=shell.pipefail, first_only=first_only)
        elements: list[tuple[Element, Redirected, Context]] = []
        output = context.output
        # From the right to the left: what a pipe leads to says whether an output is seen.
        for element, (decides, needed) in zip(reversed(pipeline.elements), reversed(shares), strict=True):
            streams = self._redirected(element, Redirected(output, context.errors), shell)
            output = Stream(hidden=streams.output.hidden, target=streams.output.target, piped=True)
            own = context._replace(
                decides=context.decides and decides,
                needed=context.needed and needed,
                output=streams.output,
                errors=streams.output if element.pipes_errors else streams.errors,
                input_text=streams.input_text,
            )
            elements.append((element, streams, own))
        steps: list[Callable[[], None]] = []
        fed = context.input_text
        for element, streams, own in reversed(elements):
            fed = own.input_text or fed
            own_shell = shell.copy() if len(elements) > 1 else shell
            steps.append(partial(self._element, element, streams, own._replace(input_text=fed), own_shell))
            if not _passes_on(element):
                fed = ""
        self._next(steps)

    def _redirected(self, element: Element, streams: Redirected, shell: Shell) -> Redirected:
        nodes: list[Node] = element.redirections
        if element.node and element.node.type == "command":
            nodes = [*(child for child in element.node.children if child.type in REDIRECTIONS), *nodes]
        return redirect(streams, nodes, shell.variables, self.bodies) if nodes else streams

    def _element(self, element: Element, streams: Redirected, context: Context, shell: Shell) -> None:
        if streams.written:
            self.invoker.record.add_edits(streams.written, shell.folder)
        node = element.node
        reader = self._readers.get(node.type) if node else None
        if node is None:
            if streams.words:
                self.invoker.invoke(streams.words, context, shell, streams.read)
        elif reader:
            reader(self, node, context, shell)
        elif node.type == "command":
            self._command(node, streams, context, shell)
        else:
            self._captured(node, context, shell)
        for redirection in element.redirections:
            self._captured(redirection, context, shell)

    def _captured(self, node: Node, context: Context, shell: Shell, output: Stream | None = None) -> None:
        """Let the code in a node's words run next; its output is captured."""
        parts = substitutions(node)
        if not parts:
            return
        captured = context.without_status()._replace(output=output or Stream(hidden=True), input_text="")
        steps: list[Callable[[], None]] = []
        for found in parts:
            if found.type == "process_substitution":
                own = context.without_status()
                if text_of(found).startswith("<"):
                    own = own._replace(output=Stream(hidden=True, piped=True))
            else:
                own = captured
            steps.append(partial(self._scope, found.children, own, shell.substitution()))
        self._next(steps)

    def _command(self, node: Node, streams: Redirected, context: Context, shell: Shell) -> None:
        words: list[str] = []
        inner: Node | None = None
        for child in node.children:
            kind = child.type
            if kind == "command_name":
                self.misread |= text_of(child) in _RESERVED
                words += self._split(child.children[0] if child.children else child, shell)
            elif kind == "subshell":
                inner = child
            elif kind not in REDIRECTIONS and kind not in {"variable_assignment", "comment", "$"}:
                words += self._split(child, shell)
        words += streams.words
        if inner and words:
            # `time ( … )`
            self._scope(
                inner.children, context._replace(wrappers=(*context.wrappers, words[0])), shell.copy()
            )
        elif words:
            self.waiting.append(partial(self._invoke, words, context, shell, streams.read))
        self._captured(
            node, context, shell, context.output if words[:1] and words[0] in _PRINTS_ITS_WORDS else None
        )

    def _invoke(self, words: list[str], context: Context, shell: Shell, read: list[str]) -> None:
        body = shell.functions.get(words[0])
        if body is None:
            self.invoker.invoke(words, context, shell, read)
        elif words[0] not in context.calls:
            called = context._replace(calls=(*context.calls, words[0]))
            self._scope([body], called, shell)

    def _split(self, node: Node, shell: Shell) -> list[str]:
        text = word_text(node, shell.variables)
        # An unquoted variable may hold several words: `$RUN pytest`.
        if node.type in _EXPANSIONS and not text.startswith("$"):
            return text.split()
        return [text]

    def _assignment(self, node: Node, context: Context, shell: Shell) -> None:
        self._assign(node, context, shell, keeps_status=True)

    def _assignments(self, node: Node, context: Context, shell: Shell) -> None:
        for child in reversed(node.children):
            if child.type == "variable_assignment":
                self._assign(child, context, shell, keeps_status=child == node.children[-1])

    def _assign(self, node: Node, context: Context, shell: Shell, *, keeps_status: bool) -> None:
        """Read an assignment; its exit code is that of the `$(…)` in it."""
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        label = text_of(name) if name else ""
        text = word_text(value, shell.variables) if value else ""
        plain = not value or not ("$" in text or "`" in text or value.type == "array")
        shell.assign(label, text if plain and "+=" not in text_of(node)[: len(label) + 2] else None)
        if value and not plain:
            found = substitutions(value)
            captured = context._replace(output=Stream(hidden=True, target=f"${label}"), input_text="")
            if not keeps_status or len(found) != 1 or found[0].type != "command_substitution":
                captured = captured.without_status()
            self._next(
                [partial(self._scope, part.children, captured, shell.substitution()) for part in found]
            )

    def _declaration(self, node: Node, context: Context, shell: Shell) -> None:
        words: list[str] = []
        assigned: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assigned.append(child)
                words.append(text_of(child))
            elif child.type not in REDIRECTIONS:
                words.append(word_text(child, shell.variables))
        self.waiting.append(partial(self.invoker.invoke, words, context, shell, ()))
        for child in reversed(assigned):
            self._assign(child, context, shell, keeps_status=False)

    def _subshell(self, node: Node, context: Context, shell: Shell) -> None:
        self._scope(node.children, context, shell.copy())

    def _group(self, node: Node, context: Context, shell: Shell) -> None:
        if node.children and node.children[0].type == "((":
            self._captured(node, context, shell)
        else:
            self._scope(node.children, context, shell)

    def _if(self, node: Node, context: Context, shell: Shell) -> None:
        steps: list[Callable[[], None]] = []
        condition = context.without_status()._replace(tested=True)
        for part in (
            node,
            *(child for child in node.children if child.type in {"elif_clause", "else_clause"}),
        ):
            children = [child for child in part.children if child.type not in {"elif_clause", "else_clause"}]
            if part.type != "else_clause":
                tested = list(takewhile(lambda child: child.type != "then", children))
                children = children[len(tested) :]
                steps.append(partial(self._scope, tested, condition, shell))
                condition = context.unsure()._replace(tested=True)
            steps.append(partial(self._scope, children, context.unsure(), shell))
        self._next(steps)

    def _while(self, node: Node, context: Context, shell: Shell) -> None:
        tested = [child for child in node.children if child.type != "do_group"]
        bodies = [child for child in node.children if child.type == "do_group"]
        self._next(
            [
                partial(self._scope, tested, context.without_status()._replace(tested=True), shell),
                *(partial(self._scope, body.children, context.unsure(), shell) for body in bodies),
            ],
        )

    def _for(self, node: Node, context: Context, shell: Shell) -> None:
        inside = context.unsure()
        if not context.guarded and any(child.type in _SURE_VALUES for child in node.children):
            inside = context.without_status()
        steps: list[Callable[[], None]] = []
        for child in node.children:
            if child.type in _LOOP_BODIES:
                steps.append(partial(self._scope, child.children, inside, shell))
            else:
                steps.append(partial(self._captured, child, context, shell))
        variable = node.child_by_field_name("variable")
        if variable:
            shell.assign(text_of(variable), None)
        self._next(steps)

    def _case(self, node: Node, context: Context, shell: Shell) -> None:
        steps: list[Callable[[], None]] = []
        for child in node.children:
            if child.type == "case_item":
                closing = next((at for at, part in enumerate(child.children) if part.type == ")"), 0)
                steps.append(partial(self._scope, child.children[closing + 1 :], context.unsure(), shell))
            else:
                steps.append(partial(self._captured, child, context, shell))
        self._next(steps)

    def _function(self, node: Node, _context: Context, shell: Shell) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name and body:
            shell.functions[text_of(name)] = body

    _readers: ClassVar[dict[str, Callable[[BashReader, Node, Context, Shell], None]]] = {
        "c_style_for_statement": _for,
        "case_statement": _case,
        "compound_statement": _group,
        "declaration_command": _declaration,
        "for_statement": _for,
        "function_definition": _function,
        "if_statement": _if,
        "subshell": _subshell,
        "variable_assignment": _assignment,
        "variable_assignments": _assignments,
        "while_statement": _while,
    }
