"""Where the outputs of a command go."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.heredocs import heredoc_body
from tokeneconomizer.domain.verdicts.shell.tree import text_of
from tokeneconomizer.domain.verdicts.shell.words import word_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokeneconomizer.domain.verdicts.shell.tree import Node


@dataclass(frozen=True, slots=True)
class Stream:
    """
    Where one output goes.

    Attributes:
        hidden: it never gets into the output of the call.
        target: the file or `$variable` that takes it.
        piped: it goes into a pipe first.

    """

    hidden: bool = False
    target: str = ""
    piped: bool = False


SHOWN = Stream()
NOWHERE = Stream(hidden=True)
# Names of a process's own outputs.
_DUPLICATES = {"/dev/stdout": "1", "/dev/fd/1": "1", "/dev/stderr": "2", "/dev/fd/2": "2"}


@dataclass(slots=True)
class Redirected:
    """The streams of one command, and what else its redirections say."""

    output: Stream
    errors: Stream
    written: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    input_text: str = ""
    # The grammar takes the words after a redirection for further targets.
    words: list[str] = field(default_factory=list)

    def apply(self, operator: str, descriptor: str, target: str) -> None:
        """Follow one redirection of an output."""
        both = operator in {"&>", "&>>"} or (
            operator == ">&" and not descriptor and not _is_descriptor(target)
        )
        duplicate = _DUPLICATES.get(target, target if operator == ">&" and not both else "")
        if duplicate:
            stream = {"1": self.output, "2": self.errors}.get(duplicate, SHOWN)
            if duplicate == "-":
                stream = NOWHERE
        elif target == "/dev/tty":
            stream = SHOWN
        else:
            stream = NOWHERE if target == "/dev/null" else Stream(hidden=True, target=target)
            self.written.append(target)
        self._set("12" if both else descriptor or "1", stream)

    def read_from(self, name: str, bodies: tuple[str, ...]) -> None:
        """Follow `< file`, or a heredoc in its place."""
        body = heredoc_body(name, bodies)
        if body is None:
            self.read.append(name)
        else:
            self.input_text = body

    def apply_pipe(self, descriptor: str) -> None:
        """Follow `> >(program)`: the program passes it on."""
        self._set(descriptor or "1", replace(self.output, piped=True))

    def _set(self, descriptors: str, stream: Stream) -> None:
        if "1" in descriptors:
            self.output = stream
        if "2" in descriptors:
            self.errors = stream


def _is_descriptor(target: str) -> bool:
    return target == "-" or target.rstrip("-").isdecimal()


def redirect(
    streams: Redirected,
    redirections: Iterable[Node],
    variables: Mapping[str, str],
    bodies: tuple[str, ...],
) -> Redirected:
    """Follow the redirections of a command in their order."""
    for node in redirections:
        if node.type == "herestring_redirect":
            _read_text(streams, node, variables)
        else:
            _follow(streams, node, variables, bodies)
    return streams


def _read_text(streams: Redirected, node: Node, variables: Mapping[str, str]) -> None:
    for child in node.children:
        if child.is_named and child.type != "file_descriptor":
            streams.input_text = f"{word_text(child, variables)}\n"


def _follow(streams: Redirected, node: Node, variables: Mapping[str, str], bodies: tuple[str, ...]) -> None:
    descriptor = operator = ""
    target: Node | None = None
    for child in node.children:
        if child.type == "file_descriptor":
            descriptor = text_of(child)
        elif not child.is_named:
            operator = operator or text_of(child)
        elif target is None:
            target = child
        else:
            streams.words.append(word_text(child, variables))
    if operator.endswith("-"):
        streams.apply(">&", descriptor, "-")
    elif target is None:
        return
    elif operator.startswith("<"):
        streams.read_from(word_text(target, variables), bodies)
    elif target.type == "process_substitution":
        streams.apply_pipe(descriptor)
    else:
        streams.apply(operator, descriptor, word_text(target, variables))
