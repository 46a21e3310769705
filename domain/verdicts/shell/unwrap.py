"""Strips the wrappers from a command."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import base_name, is_option, operand_position
from tokeneconomizer.domain.verdicts.shell.program import PYTHON, PYTHON_MODULE, python_module
from tokeneconomizer.domain.verdicts.shell.wrappers import OWN_COMMAND, WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.verdicts.shell.wrappers import Wrapper

# `sudo env timeout nice …`: more in a row is no command but noise.
WRAPPERS_MAX = 16

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "ksh", "fish", "yash"})

_NODE_VALUED = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
)
# Programs that a package manager put there, run by their interpreter.
_INSTALLED_SCRIPT = re.compile(r"(?:.*[/\\])?(?:\.bin|vendor[/\\]bin|node_modules)[/\\].+")
_SCRIPT_EXTENSION = re.compile(r"\.(?:[cm]?js|php|phar)$")
_ASSIGNMENT = re.compile(r"\w+=")
_VERSION = re.compile(r"(@?[^@]+)@.*", re.DOTALL)
_GO_MAJOR = re.compile(r"/v\d+$")
_POWERSHELL_TEXT = re.compile(r"[-/]c(?:o(?:m(?:m(?:a(?:nd?)?)?)?)?)?", re.IGNORECASE)
_POWERSHELL_VALUED = re.compile(
    r"-(?:ex\w*|ep|w|windowstyle|version|inputformat|outputformat|wd|workingdirectory)", re.IGNORECASE
)


class Language(StrEnum):
    """The language of a nested script."""

    BASH = "bash"
    POWERSHELL = "powershell"


@dataclass(slots=True)
class Script:
    """Shell text to read in place of a command; without text it comes from the standard input."""

    text: str | None
    language: Language = Language.BASH
    new_shell: bool = True
    errexit: bool = False
    pipefail: bool = False


@dataclass(slots=True)
class Unwrapped:
    """A command without its wrappers, or the script that stands for it."""

    words: list[str]
    labels: list[str] = field(default_factory=list)
    script: Script | None = None
    loses_status: bool = False


def unwrap(words: Sequence[str]) -> Unwrapped:
    """Strip the wrappers from the words of a command."""
    result = Unwrapped(list(words))
    for _ in range(WRAPPERS_MAX):
        if not result.words or result.script or not _strip_one(result):
            break
    return result


def _strip_one(result: Unwrapped) -> bool:
    name = base_name(result.words[0])
    if name in SHELLS:
        return _strip_shell(result, name)
    for wrapper in WRAPPERS.get(name, ()):
        if _strip_wrapper(result, wrapper):
            return True
    return _strip_interpreter(result, name)


def _strip_interpreter(result: Unwrapped, name: str) -> bool:
    if PYTHON.fullmatch(name):
        return _strip_python(result)
    if name in {"node", "nodejs", "php"}:
        return _strip_script(result, name)
    if name in {"pnpm", "yarn"}:
        return _strip_manager(result, name)
    if name.lower() in {"powershell", "pwsh", "cmd"}:
        return _strip_windows_shell(result, name.lower())
    return False


def _strip_shell(result: Unwrapped, name: str) -> bool:
    words = result.words
    script = Script(None)
    takes_text = False
    position = 1
    while position < len(words) and words[position][:1] in {"-", "+"} and words[position] != "--":
        word = words[position]
        position += 1
        if word.startswith("--"):
            position += word in {"--rcfile", "--init-file"}
            continue
        takes_text |= "c" in word
        script.errexit |= "e" in word
        if "o" in word or "O" in word:
            script.pipefail |= words[position : position + 1] == ["pipefail"]
            script.errexit |= words[position : position + 1] == ["errexit"]
            position += 1
    if takes_text and position < len(words):
        script.text = words[position]
        result.labels.append(f"{name} -c")
    elif position < len(words):
        return False
    else:
        result.labels.append(name)
    result.script = script
    return True


def _strip_wrapper(result: Unwrapped, wrapper: Wrapper) -> bool:
    words = result.words
    position = 1
    for subcommand in wrapper.subcommands:
        position = operand_position(words, wrapper.valued, position)
        if position >= len(words) or words[position] != subcommand:
            return False
        position += 1
    own_words = position
    if wrapper.command_after:
        rest, text = _after(words, position, wrapper), None
    else:
        rest, text = _command_words(words, position, wrapper)
    if text is not None:
        result.script = Script(text, new_shell=wrapper.label != "eval")
    elif (
        not rest
        or wrapper.never.intersection((rest[0], *words[own_words : own_words + 1]))
        or is_option(rest[0])
        or not _named(rest, wrapper)
    ):
        return False
    elif wrapper.joins:
        result.script = Script(" ".join(rest), new_shell=wrapper.label != "eval")
    if wrapper.loses_status is not None:
        own_options = words[own_words : len(words) - len(rest)]
        result.loses_status |= not any(_has_option(word, wrapper.loses_status) for word in own_options)
    result.labels.append(wrapper.label)
    result.words = rest
    return True


def _has_option(word: str, options: frozenset[str]) -> bool:
    short = {option[1] for option in options if len(option) == len("-x")}
    return word in options or (is_option(word) and word[1] != "-" and not short.isdisjoint(word[1:]))


def _after(words: list[str], start: int, wrapper: Wrapper) -> list[str]:
    for position in range(start, len(words)):
        if words[position] in wrapper.command_after:
            return words[position + 1 :]
    return []


def _command_words(words: list[str], start: int, wrapper: Wrapper) -> tuple[list[str], str | None]:
    """Skip what belongs to the wrapper: the command's words, or the text that an option gives."""
    position = start
    skipped = 0
    dashes = False
    while position < len(words):
        word = words[position]
        if not dashes and is_option(word) and (not wrapper.skipped or skipped < wrapper.skipped):
            text = _option_text(words, position, wrapper)
            if text is not None:
                return [], text
            if wrapper.python and PYTHON_MODULE.fullmatch(word):
                return ["python", *words[position:]], None
            dashes = word == "--"
            position += 2 if word in wrapper.valued else 1
        elif wrapper.assignments and _ASSIGNMENT.match(word):
            position += 1
        elif skipped < wrapper.skipped:
            skipped += 1
            position += 1
        else:
            break
    return words[position:], None


def _option_text(words: list[str], position: int, wrapper: Wrapper) -> str | None:
    """Give the shell text in an option: `-c text`, `-qec text`, `--command=text`."""
    if not wrapper.text_options:
        return None
    word = words[position]
    name, equals, value = word.partition("=")
    if equals and name in wrapper.text_options:
        return value
    cluster = not word.startswith("--") and f"-{word[-1]}" in wrapper.text_options
    if (word in wrapper.text_options or cluster) and position + 1 < len(words):
        return words[position + 1]
    return None


def _named(rest: list[str], wrapper: Wrapper) -> bool:
    """Give the first word its program's name; False when the wrapper does not take it."""
    first = rest[0]
    if wrapper.label.startswith("go "):
        if (
            first.startswith((".", "/"))
            or first.endswith(".go")
            or (wrapper.label == "go run" and "/" not in first)
        ):
            return False
        rest[0] = base_name(_GO_MAJOR.sub("", first.partition("@")[0]))
    elif wrapper.packages:
        version = _VERSION.fullmatch(first)
        rest[0] = version.group(1) if version else first
    elif first != "python" and (wrapper.python_always or (wrapper.python and first.endswith(".py"))):
        rest.insert(0, "python")
    return True


def _strip_python(result: Unwrapped) -> bool:
    """`python -m coverage run` is `coverage run`."""
    module, arguments = python_module(result.words[1:])
    if module not in WRAPPERS or module == "trace":
        return False
    inner = Unwrapped([module, *arguments])
    if not any(_strip_wrapper(inner, wrapper) for wrapper in WRAPPERS[module]):
        return False
    result.labels += inner.labels
    result.words = inner.words
    return True


def _strip_script(result: Unwrapped, name: str) -> bool:
    position = operand_position(result.words, _NODE_VALUED, 1)
    if position >= len(result.words) or not _INSTALLED_SCRIPT.fullmatch(result.words[position]):
        return False
    script = result.words[position]
    result.words = [_SCRIPT_EXTENSION.sub("", base_name(script)).lstrip("_"), *result.words[position + 1 :]]
    result.labels.append(name)
    return True


def _strip_manager(result: Unwrapped, name: str) -> bool:
    """`yarn jest` runs a program; `yarn test` and `yarn build:css` are scripts, which stay yarn's."""
    words = result.words
    if (
        name == "bun"
        or len(words) < len(("yarn", "jest"))
        or is_option(words[1])
        or OWN_COMMAND.fullmatch(words[1])
    ):
        return False
    result.words = words[1:]
    result.labels.append(name)
    return True


def _strip_windows_shell(result: Unwrapped, name: str) -> bool:
    words = result.words
    position = 1
    while position < len(words):
        word = words[position]
        if (name == "cmd" and word.lower().lstrip("/") == "c") or (
            name != "cmd" and _POWERSHELL_TEXT.fullmatch(word)
        ):
            result.labels.append(f"{name} {'/c' if name == 'cmd' else '-Command'}")
            result.script = Script(" ".join(words[position + 1 :]), Language.POWERSHELL)
            return True
        if word[:1] not in {"-", "/"} or word.lower() in {"-file", "-f"}:
            return False
        position += 2 if _POWERSHELL_VALUED.fullmatch(word) else 1
    return False
