"""What each invocation of a command is to the verdict: a runner, something that may run tests, or text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts import program_tables as tables
from tokeneconomizer.domain.verdicts.programs import INTERPRETERS, program_of
from tokeneconomizer.domain.verdicts.runners import FAMILIES
from tokeneconomizer.domain.verdicts.shell.quoting_programs import only_quotes

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.programs import Program
    from tokeneconomizer.domain.verdicts.runners.base import Family
    from tokeneconomizer.domain.verdicts.shell import CommandReading, Invocation


class Role(Enum):
    """What an invocation is to the verdict."""

    RUNNER = auto()
    WRAPPER = auto()
    READER = auto()
    OTHER = auto()


_TESTING_WORD = re.compile(
    r"(?:^|[^a-z])(?:tests?|specs?|checks?|ci|verify|validate|e2e|units?|integration|coverage|"
    r"cov|pytest|jest|vitest|"
    r"mocha|phpunit|rspec|qa|regress(?:ion)?|smoke)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_PROGRAM_WORD = re.compile(r"(?:^|[^a-z])(?:tests?|specs?|e2e|units?|integration)(?:[^a-z]|$)", re.IGNORECASE)
_CODE_THAT_TESTS = re.compile(
    r"\b(?:pytest|unittest|doctest|nose2?|jest|mocha|vitest|node:test|Test::More|minitest|PHPUnit)"
)
_CODE_THAT_RUNS = re.compile(
    r"\b(?:subprocess|os\.system|popen|child_process|execSync|spawnSync|system\s*\()"
)


@dataclass(frozen=True, slots=True)
class Call:
    """An invocation with its role; `testing`: what it is called by says that it should run tests."""

    invocation: Invocation
    program: Program
    role: Role
    family: Family | None
    testing: bool


def calls_of(reading: CommandReading) -> list[Call]:
    """Return the calls of a command in the order of execution."""
    return [_call(invocation) for invocation in reading.invocations]


def _call(invocation: Invocation) -> Call:
    program = program_of(invocation)
    for family in FAMILIES:
        if family.runs(program):
            listing = family.lists(program)
            return Call(
                invocation, program, Role.OTHER if listing else Role.RUNNER, family, testing=not listing
            )
    role, testing = _role(invocation, program)
    return Call(invocation, program, role, None, testing)


def _role(invocation: Invocation, program: Program) -> tuple[Role, bool]:
    if program.name in tables.TASK_RUNNERS:
        return _task_role(program)
    if only_quotes(invocation.program, invocation.arguments):
        return Role.READER, False
    if _is_inert(program):
        return Role.OTHER, False
    if program.name in INTERPRETERS and not program.module and not program.script:
        return _inline_role(invocation)
    called = program.module or program.script or program.name
    named = called.rsplit("/", 1)[-1]
    word = _TESTING_WORD if program.script or "." in named else _PROGRAM_WORD
    # A name that is only known when the shell has run something says nothing.
    return Role.WRAPPER, "$" not in called and word.search(named) is not None


def _is_inert(program: Program) -> bool:
    if program.module in tables.INERT_MODULES or (program.name in tables.INERT_TOOLS and not program.module):
        return True
    if program.has("--version", "--help", "--list", "--gtest_list_tests", "--list-tests", "-V"):
        return True
    # The short options of Catch2 and doctest; a script may mean anything by them.
    return program.name not in INTERPRETERS and program.arguments[:1] in (("-l",), ("-ltc",), ("-t",))


def _task_role(program: Program) -> tuple[Role, bool]:
    words = [word for word in program.arguments if not word.startswith("-") and "=" not in word]
    if program.has("--version", "--help", "-n", "--dry-run", "--just-print", "--list", "--summary"):
        return Role.OTHER, False
    if program.name in tables.PACKAGE_MANAGERS and (not words or words[0] in tables.PACKAGE_COMMANDS):
        return Role.OTHER, False
    # A check of a package is as often one of types or style.
    testing = any(_TESTING_WORD.search(word) for word in words if word != "check" or program.name == "make")
    testing = testing or words[:1] == ["t"]
    return Role.WRAPPER, testing


def _inline_role(invocation: Invocation) -> tuple[Role, bool]:
    code = invocation.input_text
    for option, following in zip(invocation.arguments, invocation.arguments[1:], strict=False):
        if option in tables.INLINE_CODE:
            code = f"{code}\n{following}"
    testing = _CODE_THAT_TESTS.search(code) is not None
    runs_something = testing or _CODE_THAT_RUNS.search(code) is not None
    return (Role.WRAPPER if runs_something else Role.READER), testing
