"""
The ways of doing things that a command line shows: which program, with which words, in which folder.

It works on redacted command lines. A line whose structure leaves a doubt (loops, substitutions, functions)
shows no way at all: what is learnt from has to be certain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokeneconomizer.domain.command_rules import program_name
from tokeneconomizer.domain.facts.folders import is_absolute, joined
from tokeneconomizer.domain.facts.purposes import INTERPRETERS, Aim, Purpose, may_have_purpose, purpose_of
from tokeneconomizer.domain.shell_words import argument_positions, tokens_of
from tokeneconomizer.domain.verdicts import read
from tokeneconomizer.domain.verdicts.programs import words as words_of

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_COMMANDS_MAX = 8
"""A line of more commands is a program: which of them decided how it ended is not certain."""

_DOUBTFUL = re.compile(
    r"[^ -~]|[`(]|<<"
    r"|(?:^|[;&|]\s*)(?:for|while|until|if|case|function|then|do|else|wsl|ssh"
    r"|set|export|unset|source|eval|alias|nvm|conda|deactivate)\b"
    r"|(?:^|[;&|]\s*)\.\s"
)
"""
What makes a line more than a list of commands, or has its commands depend on what it sets up first; also the
mark of a cut, which is no ASCII character.
"""

_SILENT = words_of(
    """
    cd echo printf tail head cat grep egrep rg sed awk tee sleep true pwd ls wc sort uniq date
    """
)
"""Programs beside the one that a line is about; they show, filter or go to a folder."""

FAMILIES = {
    **dict.fromkeys(("python", "python2", "python3", "py"), "python"),
    **dict.fromkeys(("pip", "pip2", "pip3"), "pip"),
    **dict.fromkeys(("node", "nodejs"), "node"),
    **dict.fromkeys(("make", "gmake"), "make"),
    **dict.fromkeys(("docker", "podman"), "containers"),
}
"""Programs that take each other's place, one of which a machine may lack."""

_FAMILY = re.compile(rf"\b(?:{'|'.join(FAMILIES)})\b")

_BEFORE = {"time": 0, "nohup": 0, "command": 0, "env": 0, "exec": 0, "timeout": 1, "nice": 0}
"""Words before a program, and how many values follow each."""

HEAD_WORDS_MAX = 4
"""What makes a command what it is: `python -m tools.checks all` has four words; more are arguments."""

Heads = Mapping[str, Purpose]
"""What commands are for, by their first words, where their structure does not tell."""

NO_HEADS: Heads = MappingProxyType({})

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_HARMLESS_VALUE = re.compile(r"\d{1,4}|true|false|yes|no|on|off")
_ALONE = re.compile(r"[\w./:@%+,=-]+(?: [\w./:@%+,=-]+)*(?: 2>&1)?", re.ASCII)
"""A line of one plain command, which needs no reading by the grammar."""

_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_GOES_ONCE = re.compile(r"cd ([\w.~/-]+) *(?:&&|;|$)")
"""The usual form of it, which needs no reading."""

_SWITCHES = words_of(
    "-- - -q -v -vv -x -l -race -short --write --check --fix --run --verbose --quiet --noEmit --unsafe"
)
"""Options known to take no value: a file behind them is not theirs."""

_ON_FILES = frozenset({Purpose.TEST, Purpose.CHECK, Purpose.LINT, Purpose.TYPES, Purpose.FORMAT})
"""What is done to the files at hand: which ones they were says nothing of the way."""

ALL_OF_IT = frozenset({".", "./..."})
"""What is worked on where no files are named."""

_ARGUMENT_OF_FILE = re.compile(r".*(?:/|\\|\*|\.[A-Za-z]\w{0,5}$|::)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Way:
    """
    One command of a line, as a way of doing something.

    Attributes:
        purpose: what it is for; None where its structure does not tell.
        head: its runner, program and sub-command or script.
        text: the command as it ran, without the files that it was to work on; empty where something in it is
            hidden.
        is_whole: whether the text is all that ran: no file was named.
        rest: its words after the program, for a command without purpose.
        script: the name that a file of the repository gives a meaning to, or empty.
        folder: the one that its line goes to first, or empty.
        variables: the names of those set for it alone.
        is_alone: nothing else in its line can have failed.
        is_proven: exit status 0 of the line proves that it succeeded.

    """

    purpose: Purpose | None
    head: str
    text: str
    is_whole: bool
    rest: str
    script: str
    folder: str
    variables: tuple[str, ...]
    is_alone: bool = False
    is_proven: bool = False


def ways_in(command: str, also: Heads = NO_HEADS) -> list[Way]:
    """
    Return the ways that a redacted command line shows, in its order.

    Of commands without a purpose only those whose program may be missing, or stand in for a missing one.

    Args:
        command: the line.
        also: what else has a purpose in its repository.

    """
    if not also and not may_have_purpose(command) and _FAMILY.search(command) is None:
        return []
    return _read(command, lambda words, folder: _way(words, folder, also))


def commands_in(command: str) -> list[Way]:
    """Return all commands of a line that do something, also those without a purpose, told by their shape."""
    return _read(command, _shape)


def _read(command: str, way_of: Callable[[list[str], str], Way | None]) -> list[Way]:
    if _DOUBTFUL.search(command):
        return []
    commands = _simple_commands(command)
    if not 0 < len(commands) <= LINE_COMMANDS_MAX:
        return []
    folder, found, significant = "", [], 0
    for number, words in enumerate(commands):
        program = program_name(words[0])
        if program == "cd":
            folder = joined(folder, words[1]) if len(words) > 1 else "~"
        elif program not in _SILENT:
            significant += 1
            way = way_of(words, folder)
            found += [(number, way)] if way else []
    # Looked at only now: what is proven takes the whole reading of the line.
    proven = _proven(command, len(commands)) if found else None
    if proven is None:
        return []
    return [replace(way, is_alone=significant == 1, is_proven=proven[number]) for number, way in found]


def folder_after(command: str) -> str | None:
    """Return where a line goes, for a shell that stays there; None where it goes nowhere, `?` if unclear."""
    if _MOVES.search(command) is None:
        return None
    if _DOUBTFUL.search(command):
        return "?"
    alone = _GOES_ONCE.match(command)
    if alone and _MOVES.search(command, alone.end()) is None:
        return joined("", alone[1])
    folder = ""
    for words in _simple_commands(command):
        if program_name(words[0]) == "cd":
            folder = joined(folder, words[1]) if len(words) > 1 else "~"
        elif words[0] in {"pushd", "popd"}:
            return "?"
    return folder or None


def _simple_commands(command: str) -> list[list[str]]:
    tokens = tokens_of(command)
    return [[tokens[position].text for position in positions] for positions in argument_positions(command)]


def _proven(command: str, count: int) -> list[bool] | None:
    """Return for each command whether the line's success proves its own; None where they do not match."""
    if _ALONE.fullmatch(command):
        return [True]
    invocations = read(command).reading.invocations
    if len(invocations) != count:
        return None
    return [invocation.needed_for_success for invocation in invocations]


def _way(words: list[str], folder: str, also: Heads) -> Way | None:
    words, variables = _without_prefix(words)
    aim = purpose_of(words) or (_further_aim(words, also) if also else None)
    if not words or (aim is None and words[0] not in FAMILIES):
        return None
    head = words[: aim.head] if aim else words[:1]
    kept = words if aim is None or aim.purpose not in _ON_FILES else head + _arguments(words[len(head) :])
    hidden = any(map(_is_hidden, kept)) or _hides(variables)
    prefix = [f"{name}={value}" for name, value in variables]
    return Way(
        purpose=aim.purpose if aim else None,
        head=" ".join(head),
        text="" if hidden else " ".join([*prefix, *kept]),
        is_whole=kept == words,
        rest=" ".join(words[1:]),
        script=aim.script if aim else "",
        folder=folder,
        variables=tuple(name for name, _ in variables),
    )


def _further_aim(words: list[str], also: Heads) -> Aim | None:
    for length in range(min(len(words), HEAD_WORDS_MAX), 0, -1):
        purpose = also.get(" ".join(words[:length]))
        if purpose is not None:
            return Aim(purpose, length, script=words[0] if "/" in words[0] else "")
    return None


def _shape(words: list[str], folder: str) -> Way | None:
    """Return a command by the words that may be its head: program, script, sub-commands, flags; no files."""
    words, variables = _without_prefix(words)
    if not words:
        return None
    aim = purpose_of(words)
    lead = 1
    if program_name(words[0]) in INTERPRETERS:
        lead = 3 if words[1:2] == ["-m"] else 2
    shown = [*words[:lead], *_arguments(words[lead:])][:HEAD_WORDS_MAX]
    head = words[: aim.head] if aim else shown
    return Way(
        purpose=aim.purpose if aim else None,
        head=" ".join(head),
        text="" if any(map(_is_hidden, head)) else " ".join(head),
        is_whole=False,
        rest="",
        script="",
        folder=folder,
        variables=tuple(name for name, _ in variables),
    )


def _is_hidden(word: str) -> bool:
    """Return whether a word is not shown, or holds for this machine alone."""
    return any(sign in word for sign in "<>$~") or is_absolute(word)


def _hides(variables: list[tuple[str, str]]) -> bool:
    return any(not _HARMLESS_VALUE.fullmatch(value) for _, value in variables)


def _without_prefix(words: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    variables: list[tuple[str, str]] = []
    place = 0
    while place < len(words):
        assigned = _ASSIGNED.fullmatch(words[place])
        if assigned:
            variables.append((assigned[1], assigned[2]))
        elif words[place] in _BEFORE:
            place += _BEFORE[words[place]]
        else:
            break
        place += 1
    return words[place:], variables


def _arguments(words: list[str]) -> list[str]:
    """Return the arguments without the files that the command was to work on, nor what may have taken one."""
    kept: list[str] = []
    for word in words:
        if word in ALL_OF_IT or not _ARGUMENT_OF_FILE.match(word):
            kept.append(word)
        elif kept and kept[-1].startswith("-") and kept[-1] not in _SWITCHES:
            kept.pop()
    while kept and kept[-1] == "--":
        kept.pop()
    return kept
