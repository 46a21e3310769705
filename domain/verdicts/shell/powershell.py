"""
Reads PowerShell and cmd by their tokens.

Its grammar mixes commands with expressions; only commands count here. Brackets of every kind hold statements
of their own, and the command around them goes on behind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokeneconomizer.domain.verdicts.shell.names import COMPUTED, word_set
from tokeneconomizer.domain.verdicts.shell.powershell_tokens import Kind, Token, powershell_tokens
from tokeneconomizer.domain.verdicts.shell.streams import Redirected, Stream

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts.shell.context import Context, Shell
    from tokeneconomizer.domain.verdicts.shell.invoke import Invoker

# Larger texts carry data, not commands.
STATEMENT_CHARACTERS_MAX = 16_384

_ASSIGNMENT = re.compile(r"(\$[\w:{}]+)([+]?=)?(.*)", re.DOTALL)
_EXPRESSION = re.compile(r"[$@\[\d\-+!,=<%*]|\.\.|\.\w*\(")
_REDIRECT = re.compile(r"([\d*]?)(>>?)(?:&(\d))?")
_CMDLET = re.compile(r"[A-Z][A-Za-z]+-[A-Z]\w+")
_KEYWORDS = word_set(
    "begin catch do else elseif end finally for foreach function if in param process switch throw try until"
    " while",
)
# These stand before a command of their own: `return pytest`.
_PREFIXES = frozenset({"return", "."})
_CLOSING = {"(": ")", "{": "}"}


@dataclass(slots=True)
class _Command:
    """One command: `piped` into the next; `conditional`: after `&&` or `||`; `depth`: of brackets around."""

    depth: int = 0
    tokens: list[Token] = field(default_factory=list)
    redirections: list[tuple[str, str]] = field(default_factory=list)
    called: bool = False
    conditional: str = ""
    piped: bool = False
    ended_by: str = ""
    opened_by: str = ""


@dataclass(slots=True)
class _Statements:
    finished: list[_Command] = field(default_factory=list)
    current: _Command = field(default_factory=_Command)
    outer: list[_Command] = field(default_factory=list)
    redirection: str = ""
    balanced: bool = True

    def take(self, token: Token) -> None:
        if token.kind is Kind.REDIRECT:
            self._redirect(token.text)
        elif token.kind is Kind.WORD:
            if self.redirection:
                self.current.redirections.append((self.redirection, token.text))
                self.redirection = ""
            else:
                self.current.tokens.append(token)
        elif token.text in _CLOSING:
            self.outer.append(self.current)
            self.current = _Command(depth=len(self.outer), opened_by=token.text)
        elif token.text in _CLOSING.values():
            self._close(token.text)
        elif token.text == "&" and not self.current.tokens:
            self.current.called = True
        elif token.text != "\n" or self.current.tokens:
            self._end(token.text)

    def _redirect(self, text: str) -> None:
        if "&" in text:
            self.current.redirections.append((text, ""))
        else:
            self.redirection = text

    def _close(self, bracket: str) -> None:
        self._end("")
        if not self.outer:
            self.balanced = False
            return
        if _CLOSING[self.current.opened_by] != bracket:
            self.balanced = False
        self.current = self.outer.pop()
        if self.current.tokens and bracket == ")":
            self.current.tokens.append(Token(Kind.WORD, COMPUTED, quoted=True))

    def _end(self, operator: str) -> None:
        ended = self.current
        ended.piped = operator == "|"
        ended.ended_by = operator
        self.redirection = ""
        self.current = _Command(depth=ended.depth, opened_by=ended.opened_by)
        if operator in {"&&", "||"}:
            self.current.conditional = operator
        elif operator == "|":
            self.current.conditional = ended.conditional
        if ended.tokens:
            self.finished.append(ended)

    def close(self) -> None:
        self.balanced &= not self.outer
        while self.outer:
            self._end("")
            self.current = self.outer.pop()
        self._end("")


def read_statements(invoker: Invoker, text: str, context: Context, shell: Shell) -> None:
    """Note the commands of a PowerShell text in the order of execution."""
    statements = _Statements()
    for token in powershell_tokens(text[:STATEMENT_CHARACTERS_MAX]):
        statements.take(token)
    statements.close()
    if not statements.balanced or len(text) > STATEMENT_CHARACTERS_MAX:
        invoker.record.parsed = False
    commands = statements.finished
    deciding = _deciding(commands) if invoker.record.parsed else -1
    for position, command in enumerate(commands):
        words, target = _words(command)
        if words:
            own = _context(command, context, target, decides=position == deciding)
            streams = _streams(command, own)
            invoker.record.add_edits(streams.written, shell.folder)
            own = own._replace(output=streams.output, errors=streams.errors)
            invoker.invoke(words, _behind_pipe(commands, position, own), shell)


def _deciding(commands: list[_Command]) -> int:
    """Give the position of the command whose exit code the text ends with; -1 if none has it to itself."""
    last = len(commands) - 1
    if last < 0:
        return -1
    words = [token.text for token in commands[last].tokens]
    if [word.lower() for word in words] == ["exit", "$lastexitcode"]:
        for position in range(last - 1, -1, -1):
            own, _ = _words(commands[position])
            if commands[position].depth or commands[position].conditional == "||":
                return -1
            # Commands of PowerShell itself leave the last exit code as it was.
            if own and not _CMDLET.fullmatch(own[0]):
                return position
        return -1
    final = commands[last]
    alone = final.depth == 0 and final.conditional != "||" and final.ended_by != "&"
    behind_pipe = last > 0 and commands[last - 1].piped
    return last if alone and (not behind_pipe or not _CMDLET.fullmatch(words[0])) else -1


def _context(command: _Command, context: Context, target: str, *, decides: bool) -> Context:
    if not decides:
        context = context.without_status()
    if command.depth or command.conditional:
        context = context._replace(guarded=True)
    if target:
        context = context._replace(output=Stream(hidden=True, target=target))
    return context


def _behind_pipe(commands: list[_Command], position: int, context: Context) -> Context:
    if not commands[position].piped:
        return context
    following = commands[position + 1] if position + 1 < len(commands) else None
    hidden = context.output.hidden or bool(
        following and following.tokens[0].text.lower() in {"out-null", "out-file"}
    )
    return context._replace(output=replace(context.output, piped=True, hidden=hidden))


def _streams(command: _Command, context: Context) -> Redirected:
    streams = Redirected(context.output, context.errors)
    for redirection, target in command.redirections:
        found = _REDIRECT.fullmatch(redirection)
        if not found:
            continue
        descriptor, operator, duplicate = found.groups()
        if duplicate:
            streams.apply(">&", "2" if descriptor == "*" else descriptor, duplicate)
        else:
            path = "/dev/null" if target.lower() in {"$null", "nul"} else target
            streams.apply(
                "&>" if descriptor == "*" else operator, "" if descriptor == "*" else descriptor, path
            )
    return streams


def _words(command: _Command) -> tuple[list[str], str]:
    """Give the words of a command, and the variable that takes its output; no words for an expression."""
    tokens = command.tokens
    target = ""
    assigned = _ASSIGNMENT.fullmatch(tokens[0].text)
    if assigned and not tokens[0].quoted and not command.called:
        name, equals, value = assigned.groups()
        if equals:
            tokens = [Token(Kind.WORD, value), *tokens[1:]] if value else tokens[1:]
        elif len(tokens) > 1 and tokens[1].text in {"=", "+="}:
            tokens = tokens[2:]
        else:
            return [], ""
        target = name
    if tokens and not tokens[0].quoted and tokens[0].text.lower() in _PREFIXES:
        return [token.text for token in tokens[1:]], target
    if not tokens or (not command.called and _is_expression(tokens[0])):
        return [], ""
    return [token.text for token in tokens], target


def _is_expression(token: Token) -> bool:
    return (
        token.quoted
        or not token.text
        or bool(_EXPRESSION.match(token.text))
        or token.text.lower() in _KEYWORDS
    )
