"""
Facts in words: fixed sentences, filled with commands that the agent itself ran.

A command is only said when all of it is plain: a hostile repository chooses the names of its files and
scripts, so that neither their characters nor their length are trusted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.attempts import Outcome
from tokeneconomizer.domain.facts.lessons import Kind
from tokeneconomizer.domain.facts.purposes import Purpose
from tokeneconomizer.domain.secret_shapes import is_secret_name, mask_known_secrets, mask_random_words

if TYPE_CHECKING:
    from tokeneconomizer.domain.facts.life import Fact

COMMAND_CHARACTERS_MAX = 100
"""The commands that run tests have some thirty; a longer one is no habit."""

WORD_CHARACTERS_MAX = 48
"""Longer names of scripts and folders are prose, or data."""

NAME_PARTS_MAX = 4
"""A name of more words (`ignore-all-earlier-instructions-and`) is a sentence."""

LONG_RUN_S = 60
"""From a minute on it is worth to know before: time limits of agents' shells are two minutes."""

SECONDS_PER_MINUTE = 60
MILLISECONDS_PER_SECOND = 1_000

_PLAIN_COMMAND = re.compile(r"[A-Za-z0-9_.~/@:+=,-][A-Za-z0-9_.~/@:+=, -]*")
_PLAIN_FOLDER = re.compile(r"[A-Za-z0-9_.@+-]+(?:/[A-Za-z0-9_.@+-]+){0,5}")
_PLAIN_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{1,39}")
_DIGIT_WITHIN = re.compile(r"\d(?:[A-Za-z]{2}|[A-Za-z]\d)")
"""As in `p4ssw0rd`: no habit of those who name scripts, and one of those who make up passwords."""

_NAME_PARTS = re.compile(r"[-_:.]+")

_RUNS = {
    Purpose.TEST: "Run the tests with {right}",
    Purpose.CHECK: "Run the repository's own checks with {right}",
    Purpose.LINT: "Lint with {right}",
    Purpose.TYPES: "Check the types with {right}",
    Purpose.FORMAT: "The formatter here is {right}",
    Purpose.BUILD: "Build with {right}",
    Purpose.START: "Start it with {right}",
    Purpose.SETUP: "Set it up with {right}",
    Purpose.SERVICE: "Start the services that it needs with {right}",
}
_INSTEAD = {
    Outcome.NO_PROGRAM: "{wrong} is not found here: use {right}",
    Outcome.NO_SCRIPT: "{wrong} is no script here: use {right}",
    Outcome.NO_MODULE: "{wrong} does not find its modules here: use {right}",
}
_OTHERWISE = "{wrong} fails here: use {right}"
_FIXED = {
    Kind.SERVICE: "{wrong} needs a service that does not run by itself",
    Kind.OPTION: "{wrong} has an option that this version refuses: use {right}",
    Kind.FOLDER: "{right} fails in the repository's own folder: run it",
    Kind.VARIABLE: "{wrong} only works with {variables} set",
}
_AFTER = {
    Outcome.NO_SERVICE: "{wrong} needs a service: run {right} first",
    Outcome.NO_MODULE: "Where {wrong} does not find its modules, run {right} first",
}


def sentence_of(fact: Fact) -> str | None:
    """Return a fact in one sentence; None where something in it is not plain enough to be said."""
    lesson = fact.lesson
    sides = {"wrong": lesson.wrong.text, "right": lesson.right.text}
    said = {name: quoted(text) for name, text in sides.items() if text}
    folders = [folder for folder in (lesson.wrong.folder, lesson.right.folder) if folder]
    if not said or None in said.values() or not all(map(is_plain_folder, folders)):
        return None
    if not all(map(is_plain_variable, lesson.variables)):
        return None
    words = _template(fact).format(**said, variables=_listed(lesson.variables))
    return f"{words}{_additions(fact)}."


def _template(fact: Fact) -> str:
    lesson = fact.lesson
    if lesson.kind is Kind.RUNS:
        return _RUNS[Purpose(lesson.purpose)]
    if lesson.kind is Kind.AFTER:
        return _AFTER.get(Outcome(lesson.failure), "Where {wrong} is not found, run {right} first")
    return _FIXED.get(lesson.kind) or _INSTEAD.get(Outcome(lesson.failure), _OTHERWISE)


def _additions(fact: Fact) -> str:
    lesson = fact.lesson
    text = f" in the folder `{lesson.right.folder}`" if lesson.right.folder else ""
    if lesson.kind is Kind.RUNS and not fact.is_whole:
        text += ", naming what to work on"
    seconds = (fact.duration_ms or 0) // MILLISECONDS_PER_SECOND
    if seconds >= LONG_RUN_S:
        minutes = round(seconds / SECONDS_PER_MINUTE)
        text += f"; it takes about {minutes} {'minute' if minutes == 1 else 'minutes'}"
    return text


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def quoted(command: str) -> str | None:
    """Return a command in backticks; None where it is not plain."""
    return f"`{command}`" if is_plain_command(command) else None


def is_plain_command(command: str) -> bool:
    """Return whether all of a command may be said."""
    return (
        len(command) <= COMMAND_CHARACTERS_MAX
        and _PLAIN_COMMAND.fullmatch(command) is not None
        and "://" not in command
        and all(map(_is_plain_word, command.split()))
        and mask_random_words(mask_known_secrets(command)) == command
    )


def _is_plain_word(word: str) -> bool:
    name, _, value = word.partition("=")
    if value and (is_secret_name(name) or "@" in value):
        return False
    is_name = len(word) <= WORD_CHARACTERS_MAX and all(map(_is_name, word.split("/")))
    return is_name and _DIGIT_WITHIN.search(word) is None


def _is_name(name: str) -> bool:
    return sum(map(bool, _NAME_PARTS.split(name))) <= NAME_PARTS_MAX


def is_plain_folder(folder: str) -> bool:
    """Return whether a folder's name may be said."""
    return _PLAIN_FOLDER.fullmatch(folder) is not None and is_plain_command(folder)


def is_plain_variable(name: str) -> bool:
    """Return whether a variable's name may be said."""
    return _PLAIN_VARIABLE.fullmatch(name) is not None
