"""The two doors: a command of bash and one of PowerShell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.bash import BashReader
from tokeneconomizer.domain.verdicts.shell.by_words import read_by_words
from tokeneconomizer.domain.verdicts.shell.context import Context, Shell
from tokeneconomizer.domain.verdicts.shell.heredocs import lift_heredocs
from tokeneconomizer.domain.verdicts.shell.invoke import Invoker
from tokeneconomizer.domain.verdicts.shell.powershell import read_statements
from tokeneconomizer.domain.verdicts.shell.reading import Record
from tokeneconomizer.domain.verdicts.shell.tree import parse
from tokeneconomizer.domain.verdicts.shell.unwrap import Language

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.shell.reading import CommandReading

# A command that writes a large file by a heredoc; beyond it the rest is not looked at.
COMMAND_CHARACTERS_MAX = 262_144


def read_command(command: str) -> CommandReading:
    """Read a command of bash or a shell like it."""
    return _read(command, Language.BASH)


def read_powershell(command: str) -> CommandReading:
    """Read a command of PowerShell or cmd."""
    return _read(command, Language.POWERSHELL)


def _read(command: str, language: Language) -> CommandReading:
    record = Record(parsed=len(command) <= COMMAND_CHARACTERS_MAX)
    invoker = Invoker(record, _read_script)
    _read_script(invoker, command[:COMMAND_CHARACTERS_MAX], language, Context(), Shell())
    return record.reading()


def _read_script(invoker: Invoker, text: str, language: Language, context: Context, shell: Shell) -> None:
    if language is Language.POWERSHELL:
        read_statements(invoker, text, context, shell)
        return
    code, bodies = lift_heredocs(text.replace("\r\n", "\n"))
    tree = parse(code)
    known = len(invoker.record.invocations)
    if tree is None or not BashReader(invoker, bodies).read(tree, context, shell):
        del invoker.record.invocations[known:]
        read_by_words(invoker, code, context, shell)
