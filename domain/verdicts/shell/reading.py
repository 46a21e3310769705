"""The result of reading a command, and what is gathered while it is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import join_path
from tokeneconomizer.domain.verdicts.shell.quoting_programs import only_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable

# Functions that call functions multiply; no honest command comes near.
INVOCATIONS_MAX = 1_000

_NO_FILES = frozenset({"", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "NUL", "nul", "$null", "-"})
_VARIABLE = re.compile(r"\$\{?(\w+)")


@dataclass(frozen=True, slots=True)
class Invocation:
    """
    One program that the command runs.

    Attributes:
        program: base name without path and `.exe`; every python is `python`.
        module: X of `python -m X`.
        arguments: the words after the program (after the module, where there is one), quotes removed;
            expansions whose value is not known stay as they were written.
        wrappers: what was stripped before the program, outermost first: `timeout`, `uv run`, `bash -c`.
        position: order of execution, from 0.
        piped_into: its standard output goes into a pipe.
        output_hidden: its standard output never gets into the output of the call.
        status_decides: the exit code of the whole call is its own, if it ran.
        guarded: it may not have run at all.
        needed_for_success: exit code 0 of the whole call proves that it ended with 0.
        output_file: the file or `$variable` that took its standard output, even if that is printed later.
        errors_hidden: its standard error never gets into the output of the call.
        input_text: what a heredoc or a here-string fed to it.

    """

    program: str
    module: str
    arguments: tuple[str, ...]
    wrappers: tuple[str, ...]
    position: int
    piped_into: bool
    output_hidden: bool
    status_decides: bool
    guarded: bool
    needed_for_success: bool = False
    output_file: str = ""
    errors_hidden: bool = False
    input_text: str = ""


@dataclass(frozen=True, slots=True)
class CommandReading:
    """
    What a command does, as far as its text says.

    Attributes:
        invocations: in the order of execution.
        edits: the paths that it writes; `?` stands for files that the text does not name.
        parsed: False when the text is no valid command; the invocations are then a guess by words.
        quotes_only: all that it runs prints or searches texts, or is silent: a test summary in the output
            is old or quoted.

    """

    invocations: tuple[Invocation, ...]
    edits: tuple[str, ...]
    parsed: bool
    quotes_only: bool


@dataclass(slots=True)
class Record:
    """What has been found so far; `reading` closes it."""

    invocations: list[Invocation] = field(default_factory=list)
    edits: dict[str, None] = field(default_factory=dict)
    # By position: files that a program reads as its standard input.
    inputs: dict[int, list[str]] = field(default_factory=dict)
    parsed: bool = True

    @property
    def full(self) -> bool:
        """Whether no more invocations are taken."""
        return len(self.invocations) >= INVOCATIONS_MAX

    def add_edits(self, paths: Iterable[str], folder: str) -> None:
        """Note written paths, as seen from where the call began."""
        for path in paths:
            if path not in _NO_FILES and not path.startswith(("/dev/fd/", "&")):
                self.edits[join_path(folder, path)] = None

    def reading(self) -> CommandReading:
        """Close the record."""
        invocations = tuple(self._with_shown_outputs())
        return CommandReading(
            invocations=invocations,
            edits=tuple(self.edits),
            parsed=self.parsed,
            quotes_only=all(only_quotes(run.program, run.arguments) for run in invocations)
            and (self.parsed or bool(invocations)),
        )

    def _with_shown_outputs(self) -> list[Invocation]:
        """Show the outputs that went to a file or variable which a later program prints."""
        printed: set[str] = set()
        result: list[Invocation] = []
        for run in reversed(self.invocations):
            if run.output_hidden and run.output_file in printed:
                result.append(replace(run, output_hidden=False))
            else:
                result.append(run)
            if not run.output_hidden and only_quotes(run.program, run.arguments):
                printed.update(self._sources(run))
        result.reverse()
        return result

    def _sources(self, run: Invocation) -> Iterable[str]:
        yield from run.arguments
        yield from self.inputs.get(run.position, ())
        for argument in (*run.arguments, run.input_text):
            for found in _VARIABLE.finditer(argument):
                yield f"${found.group(1)}"
