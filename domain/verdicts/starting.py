"""Words of shells, package managers, interpreters and build tools about runs that never came to a test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.model import Summary, Verdict
from tokeneconomizer.domain.verdicts.runners.base import NO_COUNTS, signs

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.output import Output

NAME = "shell"

_NOTHING_SPECIFIED = signs(
    NAME,
    ("no test specified", r"^Error: no test specified", Verdict.NOT_A_TEST_RUN, "npm: no test specified"),
)
_FAILED = signs(
    NAME,
    ("npm ", r"^npm (?:ERR!|error) Test failed", Verdict.FAILED, "npm: test failed"),
    (
        "npm ",
        r"^npm (?:ERR!|error) (?:Lifecycle script `test|code ELIFECYCLE)",
        Verdict.FAILED,
        "npm: script failed",
    ),
    ("ELIFECYCLE", r"ELIFECYCLE\s+(?:Test|Command) failed", Verdict.FAILED, "pnpm: script failed"),
    ("error Command failed", r"^error Command failed with exit code", Verdict.FAILED, "yarn: script failed"),
    ("error: script ", r'^error: script ".*" exited with code', Verdict.FAILED, "bun: script failed"),
)
_ERRORS = signs(
    NAME,
    ("command not found", r"(?:^|: )command not found(?:: |$)", Verdict.ERROR, "no such program"),
    (": not found", r"^\S*sh: (?:\S+: )*\S+: not found$", Verdict.ERROR, "no such program"),
    ("No such file", r"^(?:\S*sh|env|timeout|/bin/\S+): .*No such file or", Verdict.ERROR, "no file"),
    ("failed to run command", r"^\S+: failed to run command ", Verdict.ERROR, "no such program"),
    ("ermission denied", r"^\S*sh: .*[Pp]ermission denied", Verdict.ERROR, "not executable"),
    ("syntax error", r"^\S*sh: .*syntax error", Verdict.ERROR, "shell syntax"),
    ("unexpected EOF", r"^\S*sh: .*unexpected EOF", Verdict.ERROR, "shell syntax"),
    ("can't open file", r": can't open file ", Verdict.ERROR, "no such file"),
    ("No module named ", r"^\S*python\S*: No module named ", Verdict.ERROR, "no such module"),
    ("No rule to make target", r"\*\*\* No rule to make target", Verdict.ERROR, "no such target"),
    ("No targets specified", r"\*\*\* No targets specified", Verdict.ERROR, "no makefile"),
    ("issing script", r"^npm (?:ERR!|error) [Mm]issing script", Verdict.ERROR, "no such script"),
    ("npm error code ENOENT", r"^npm error code ENOENT", Verdict.ERROR, "no package"),
    ("npm ERR! code ENOENT", r"^npm ERR! code ENOENT", Verdict.ERROR, "no package"),
    ("NO_SCRIPT", r"ERR_PNPM_NO_SCRIPT", Verdict.ERROR, "no such script"),
    ("error Command ", r'^error Command ".*" not found', Verdict.ERROR, "no such script"),
    ("cript not found", r"^error: [Ss]cript not found", Verdict.ERROR, "no such script"),
    ("Cargo.toml", r"^error: could not find `Cargo\.toml`", Verdict.ERROR, "no package"),
    ("there is no POM", r"there is no POM in this directory", Verdict.ERROR, "no project"),
    ("does not contain a Gradle build", r"does not contain a Gradle build", Verdict.ERROR, "no project"),
    ("MSB1003", r"^MSBUILD : error MSB1003", Verdict.ERROR, "no project"),
    ("unrecognized arguments", r"error: unrecognized arguments", Verdict.ERROR, "usage"),
    ("nknown option", r"^(?:error: |.*: )?[Uu]nknown option", Verdict.ERROR, "usage"),
    ("egmentation fault", r"[Ss]egmentation fault(?: \(core dumped\))?", Verdict.ERROR, "crash"),
    ("core dumped", r"\(core dumped\)", Verdict.ERROR, "crash"),
    ("Killed", r"^(?:.*\s)?Killed(?:\s|$)", Verdict.ERROR, "killed"),
    ("timed out after", r"^(?:Command|Error: Command) timed out after", Verdict.ERROR, "timed out"),
    ("Terminated", r"^(?:.*: )?Terminated(?:\s|$)", Verdict.ERROR, "terminated"),
    ("Cannot find module", r"^(?:Uncaught )?Error(?: \[\w+\])?: Cannot find", Verdict.ERROR, "no module"),
    ("MODULE_NOT_FOUND", r"^\s*code: '(?:ERR_)?MODULE_NOT_FOUND'", Verdict.ERROR, "module not found"),
    ("Node.js v", r"^Node\.js v\d+\.", Verdict.ERROR, "uncaught error in node"),
    ("Traceback", r"^Traceback \(most recent call last\):$", Verdict.ERROR, "uncaught exception"),
    ("Error", r"^(?:ModuleNotFound|Import|Syntax|Name|Indentation)Error\b", Verdict.ERROR, "exception"),
    ("ImproperlyConfigured", r"^(?:\w+\.)+ImproperlyConfigured", Verdict.ERROR, "uncaught exception"),
    ("SystemCheckError", r"^SystemCheckError: ", Verdict.ERROR, "system check"),
    ("cannot load such file", r"cannot load such file -- ", Verdict.ERROR, "file not loaded"),
    ("(LoadError)", r"\(LoadError\)", Verdict.ERROR, "file not loaded"),
    ("error: ", r"^(?:/|\.{0,2}\w)\S*:\d+:\d+: (?:fatal )?error: ", Verdict.ERROR, "compile error"),
    ("undefined reference", r": undefined reference to ", Verdict.ERROR, "link error"),
    ("collect2: error", r"^collect2: error", Verdict.ERROR, "link error"),
    ("BUILD FAILED", r"^BUILD FAILED", Verdict.ERROR, "build failed"),
    ("Can't locate ", r"^Can't locate \S+ in @INC", Verdict.ERROR, "module not found"),
    ("PHP ", r"^PHP (?:Fatal|Parse) error: ", Verdict.ERROR, "fatal error"),
    ("cabal.project", r"^cabal: No cabal file", Verdict.ERROR, "no project"),
)  # fmt: skip

_MAKE = re.compile(
    r"^\S*make(?:\[\d+\])?: (?:\*\*\* )?\[(?:[^\]]*: )?(?P<target>[^\]:]+)\] (?:Error \d+|\S.*)"
)
_TEST_TARGET = re.compile(r"test|spec|check", re.IGNORECASE)


_THROWN = re.compile(r"^(?:Uncaught )?[A-Z]?\w*Error(?: \[\w+\])?: ")
_STACK_LINE = re.compile(r"^\s+at \S")


def uncaught(output: Output) -> Summary | None:
    """Return an error of JavaScript that ended a program: its name at the margin, then its stack."""
    for index, text in output.containing("Error"):
        if _THROWN.match(text) and _STACK_LINE.match(output.text_at(index + 1)):
            return Summary(
                NAME, Verdict.ERROR, NO_COUNTS, output.number_at(index), "shell: uncaught error", final=False
            )
    return None


def summaries(output: Output) -> list[Summary]:
    """Return what is said, the most telling first."""
    found = [summary for sign in (*_NOTHING_SPECIFIED, *_ERRORS) for summary in sign.summaries(output)]
    for index, text in output.containing("make: ", "make[", "make.exe: "):
        match = _MAKE.match(text)
        if match is not None:
            verdict = Verdict.FAILED if _TEST_TARGET.search(match["target"]) else Verdict.ERROR
            number = output.number_at(index)
            found.append(Summary(NAME, verdict, NO_COUNTS, number, "make: error of a target", final=False))
            break
    found.extend(summary for sign in _FAILED for summary in sign.summaries(output))
    return found
