"""The program behind an invocation: what a runner is called by, without what measures or starts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.shell import Invocation

_VERSION_SUFFIX = re.compile(r"[-_.]?\d{1,4}(?:\.\d{1,4}){0,3}$")
_WINDOWS_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|ps1)$", re.IGNORECASE)

_BIN_FOLDERS = ("node_modules/.bin/", "vendor/bin/", "bin/")


def words(text: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(text.split())


PYTHON = frozenset({"python", "pypy", "py"})

INTERPRETERS = PYTHON | words(
    """
    node nodejs deno bun tsx ts-node ruby perl php lua luajit Rscript julia sh bash dash zsh ksh fish pwsh
    powershell groovy elixir java swift dart
    """
)

_OPTIONS_WITH_VALUE = frozenset({"-X", "-W", "-r", "--require", "--loader", "--import", "-cp", "-C"})


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its words; `script` is the file that an interpreter runs."""

    name: str
    module: str
    arguments: tuple[str, ...]
    script: str

    @property
    def tool(self) -> str:
        """The module where Python runs one, else the program."""
        return self.module or self.name

    @property
    def first(self) -> str:
        """The first word that is no option: the subcommand of tools that have some."""
        return next((word for word in self.arguments if not word.startswith(("-", "+"))), "")

    def has(self, *options: str) -> bool:
        """Whether one of the options is given, also as `--option=value`."""
        return any(word in options or word.split("=", 1)[0] in options for word in self.arguments)


def program_of(invocation: Invocation) -> Program:
    """Return the program of an invocation."""
    name = _WINDOWS_SUFFIX.sub("", invocation.program)
    arguments = invocation.arguments
    module = invocation.module
    if not module and name not in INTERPRETERS:
        shorter = _VERSION_SUFFIX.sub("", name)
        name = shorter if shorter in INTERPRETERS else name
    script = "" if module or name not in INTERPRETERS else _script(arguments)
    runner = _runner_in_modules(script)
    if runner:
        position = arguments.index(script)
        return Program(runner, "", arguments[position + 1 :], "")
    return Program(name, module, arguments, script)


def _script(arguments: tuple[str, ...]) -> str:
    skip = False
    for word in arguments:
        if skip:
            skip = False
        elif word in {"-c", "-e", "--eval", "-p", "--print", "-"}:
            return ""
        elif word in _OPTIONS_WITH_VALUE:
            skip = True
        elif not word.startswith("-"):
            return word
    return ""


def _runner_in_modules(script: str) -> str:
    """Return the runner's name for `node node_modules/jest/bin/jest.js` and the like."""
    if "node_modules/" not in script and not script.startswith(_BIN_FOLDERS):
        return ""
    last = script.rsplit("/", 1)[-1]
    return last.removesuffix(".mjs").removesuffix(".cjs").removesuffix(".js").removesuffix(".php")
