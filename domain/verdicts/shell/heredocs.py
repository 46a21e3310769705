"""
Lifts heredocs out of a command before it is parsed.

The grammar loses what follows a heredoc operator on its line (`<<EOF 2>&1 | tail`), and the bodies are text
that would only cost time. Each one becomes `< name`, which the grammar reads well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# A private character of Unicode: no shell gives it a meaning.
_MARK = "\ue000"

_STEP = re.compile(r"\\.|\$'|'|\"|\$\(\(|\(\(|\$\(|\(|\)|`|\$\{|\}|#|<<<|<<-?|\n", re.DOTALL)
_SINGLE_END = re.compile(r"[^']*+'?")
_ANSI_END = re.compile(r"(?>(?:[^'\\]|\\.)*)'?", re.DOTALL)
_DELIMITER = re.compile(r"[ \t]*+((?>(?:'[^'\n]*+'|\"[^\"\n]*+\"|\\.|[^\s|&;()<>'\"\\`])+))")
_DELIMITER_QUOTES = re.compile(r"['\"\\]")
_WORD_STARTS = frozenset(" \t\n;|&(")

# What opens a nested part of the text: how the inside is to be read.
_OPENING = {"$((": "++", "((": "++", "$(": "(", "(": "(", "${": "{"}


@dataclass(slots=True)
class _Scanner:
    text: str
    position: int = 0
    # The parts that are open: ( code, { expansion, + arithmetic, " and ` quoted.
    open_parts: list[str] = field(default_factory=list)
    pending: list[tuple[str, bool]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    kept_until: int = 0
    bodies: list[str] = field(default_factory=list)

    def run(self) -> None:
        while found := _STEP.search(self.text, self.position):
            mark = found.group()
            start = found.start()
            self.position = found.end()
            inside = self.open_parts[-1] if self.open_parts else ""
            if mark[0] == "\\":
                continue
            if inside == '"' and mark in {"'", "$'", "(", ")", "((", "#", "<<", "<<-", "\n", "}"}:
                continue
            if mark == "\n":
                self._take_bodies()
            elif mark in {"<<", "<<-"}:
                self._note_operator(start, mark)
            elif mark == "#":
                self._skip_comment(start)
            elif mark in {"'", "$'"}:
                ending = _SINGLE_END if mark == "'" else _ANSI_END
                quoted = ending.match(self.text, self.position)
                self.position = quoted.end() if quoted else len(self.text)
            else:
                self._nest(mark, inside)
        self.kept.append(self.text[self.kept_until :])

    def _nest(self, mark: str, inside: str) -> None:
        if mark in {'"', "`"}:
            if inside == mark:
                self.open_parts.pop()
            else:
                self.open_parts.append(mark)
        elif mark in _OPENING:
            # A bracket inside arithmetic is arithmetic.
            self.open_parts.extend("+" * mark.count("(") if inside == "+" else _OPENING[mark])
        elif (mark == ")" and inside in {"(", "+"}) or (mark == "}" and inside == "{"):
            self.open_parts.pop()

    def _skip_comment(self, start: int) -> None:
        inside_code = not self.open_parts or self.open_parts[-1] in {"(", "`"}
        if inside_code and (start == 0 or self.text[start - 1] in _WORD_STARTS):
            end = self.text.find("\n", start)
            self.position = len(self.text) if end < 0 else end

    def _note_operator(self, start: int, mark: str) -> None:
        if self.open_parts and self.open_parts[-1] in {"+", "{"}:
            return
        delimiter = _DELIMITER.match(self.text, self.position)
        if not delimiter:
            return
        self.position = delimiter.end()
        self.kept += (
            self.text[self.kept_until : start],
            f"< {_MARK}{len(self.bodies) + len(self.pending)}{_MARK}",
        )
        self.kept_until = self.position
        self.pending.append((_DELIMITER_QUOTES.sub("", delimiter.group(1)), mark == "<<-"))

    def _take_bodies(self) -> None:
        if not self.pending:
            return
        self.kept.append(self.text[self.kept_until : self.position])
        for delimiter, indented in self.pending:
            self.bodies.append(self._body(delimiter, indented=indented))
        self.pending.clear()
        self.kept_until = self.position

    def _body(self, delimiter: str, *, indented: bool) -> str:
        lines: list[str] = []
        while self.position < len(self.text):
            end = self.text.find("\n", self.position)
            end = len(self.text) if end < 0 else end
            line = self.text[self.position : end]
            self.position = min(end + 1, len(self.text))
            if indented:
                line = line.lstrip("\t")
            if line == delimiter:
                break
            lines.append(line)
        return "".join(f"{line}\n" for line in lines)


def lift_heredocs(text: str) -> tuple[str, tuple[str, ...]]:
    """Give the command with its heredocs as marked names of files, and their bodies."""
    if "<<" not in text:
        return text, ()
    scanner = _Scanner(text)
    scanner.run()
    return "".join(scanner.kept), tuple(scanner.bodies)


def heredoc_body(word: str, bodies: tuple[str, ...]) -> str | None:
    """Give the body that the name of a file stands for; None where it is an ordinary one."""
    if len(word) > len(_MARK) * 2 and word[0] == word[-1] == _MARK and word[1:-1].isdecimal():
        number = int(word[1:-1])
        return bodies[number] if number < len(bodies) else ""
    return None
