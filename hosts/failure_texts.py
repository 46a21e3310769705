"""
Whether a result reads as a failure, for logs that keep no status.

Only the first and the last line are asked: in between stand the contents of files, which may quote anything.
"""

from __future__ import annotations

import re

LINE_CHARACTERS_MAX = 400
"""The word that tells stands at a line's beginning or end; longer lines are data."""

_FIRST = re.compile(
    r"(?:usage: |(?:fatal |internal )?error\b|exception\b|fatal: |traceback \(most recent call last\)"
    r"|[\w.]{1,80}(?:error|exception): |execution timed out|(?:command )?timed out|your proposed edit has"
    r"|(?:no such file|file not found|permission denied|command not found)"
    r"|(?:file|directory|path) \S{1,200} (?:not found|does not exist|already exists)"
    r"|(?:failed|unable|could not|cannot|can't) )",
    re.IGNORECASE,
)
"""How the first line of a tool's own complaint begins."""

_SHELL = re.compile(
    r"\S{1,80}: (?:line \d{1,9}: |\d{1,9}: )?.{0,200}"
    r"(?:command not found|no such file or directory|permission denied|syntax error|unexpected eof .*"
    r"|not a directory|is a directory|unexpected end of file|file not found)(?:\.?|: .*)",
    re.IGNORECASE,
)
"""A shell or a program of the system complains: its name first, the errno's words last."""

_LAST = re.compile(r"[\w.]{0,80}(?:error|exception|exit)\b: .*|make: \*\*\* .*|error: .*", re.IGNORECASE)
"""How an uncaught exception or a build ends."""


def tells_of_failure(text: str) -> bool:
    """Return whether the text opens or ends with the words of a failure."""
    stripped = text.strip()
    first = stripped.partition("\n")[0].strip()[:LINE_CHARACTERS_MAX]
    last = stripped.rpartition("\n")[2].strip()[:LINE_CHARACTERS_MAX]
    return bool(_FIRST.match(first) or _SHELL.fullmatch(first) or _SHELL.fullmatch(last) or _LAST.match(last))
