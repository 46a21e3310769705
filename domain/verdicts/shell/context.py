"""What holds for a stretch of shell code: what its exit code means for the call, where its outputs go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tokeneconomizer.domain.verdicts.shell.names import is_absolute, join_path
from tokeneconomizer.domain.verdicts.shell.streams import SHOWN, Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.verdicts.shell.tree import Node


class Context(NamedTuple):
    """
    What holds for a stretch of code; a dozen are made for one command, and a tuple is made fastest.

    Attributes:
        decides: the exit code of the call is that of the stretch.
        needed: exit code 0 of the call proves that the stretch ended with 0.
        guarded: the stretch may not run at all.
        output: where its standard output goes.
        errors: where its standard error goes.
        wrappers: what was stripped around it.
        shells: how many shells are around it.
        input_text: what a heredoc feeds to it.
        tested: a condition looks at its exit code, so that errexit does not.
        calls: the functions whose bodies it belongs to.

    """

    decides: bool = True
    needed: bool = True
    guarded: bool = False
    output: Stream = SHOWN
    errors: Stream = SHOWN
    wrappers: tuple[str, ...] = ()
    shells: int = 0
    input_text: str = ""
    tested: bool = False
    calls: tuple[str, ...] = ()

    def unsure(self) -> Context:
        """Give the context of a stretch inside a condition or loop: it may not run, or run more than once."""
        return self._replace(decides=False, needed=False, guarded=True)

    def without_status(self) -> Context:
        """Give the context of a stretch whose exit code is not used."""
        return self._replace(decides=False, needed=False)


# Values are put into many words: long ones would make a short command a long one.
VARIABLE_CHARACTERS_MAX = 256


@dataclass(slots=True)
class Shell:
    """The state of a shell that its commands change."""

    folder: str = ""
    errexit: bool = False
    pipefail: bool = False
    # An `exit`, or a failure with errexit, may have ended it.
    may_have_ended: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)

    def copy(self) -> Shell:
        """Give the state that a subshell begins with."""
        return Shell(
            self.folder,
            self.errexit,
            self.pipefail,
            self.may_have_ended,
            dict(self.variables),
            self.functions,
        )

    def substitution(self) -> Shell:
        """Give the state that `$(…)` begins with: bash switches errexit off there."""
        inside = self.copy()
        inside.errexit = False
        return inside

    def assign(self, name: str, value: str | None) -> None:
        """Remember a variable whose value the text tells; forget it otherwise."""
        if value is None or len(value) > VARIABLE_CHARACTERS_MAX:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def may_end(self) -> None:
        """Note that what follows may not run."""
        self.may_have_ended = True

    def run_builtin(self, program: str, arguments: Sequence[str]) -> None:
        """Follow the builtins that change what later commands mean."""
        if program in {"cd", "pushd", "Set-Location", "Push-Location", "chdir", "sl"}:
            targets = [word for word in arguments if word == "-" or word[:1] != "-"]
            self._change_folder(targets[-1] if targets else "~")
        elif program in {"exit", "return", "exec"}:
            self.may_end()
        elif program == "set":
            self._set_options(arguments)

    def _change_folder(self, target: str) -> None:
        # Where `cd -` leads is not followed.
        if target == "-":
            self.folder = ""
        else:
            self.folder = target if is_absolute(target) else join_path(self.folder, target).rstrip("/")
            if self.folder == ".":
                self.folder = ""

    def _set_options(self, arguments: Sequence[str]) -> None:
        for position, word in enumerate(arguments):
            if word[:1] not in {"-", "+"}:
                continue
            on = word[0] == "-"
            if "e" in word[1:]:
                self.errexit = on
            if "o" in word[1:]:
                name = arguments[position + 1 : position + 2]
                if list(name) == ["pipefail"]:
                    self.pipefail = on
                elif list(name) == ["errexit"]:
                    self.errexit = on
