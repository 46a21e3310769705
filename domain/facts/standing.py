"""
Whether the repository's files still bear a fact out: cheap looks, right before a block is rendered.

Only a file that is there and says otherwise, or a folder without the file that should name it, speaks against
a fact; where nothing can be looked at, it stays.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tokeneconomizer.domain.facts.lessons import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokeneconomizer.domain.facts.life import Fact

_PACKAGE_PROGRAMS = frozenset({"npm", "pnpm", "yarn", "bun"})
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_FILE_OF_PROGRAM = {"cargo": "Cargo.toml", "go": "go.mod"}
_FOLDER_FLAGS = frozenset({"-C", "--prefix", "--filter", "-F", "--workspace", "-w", "--dir", "--cwd", "-f"})


def still_holds(fact: Fact, read: Callable[[str], str | None]) -> bool:
    """Return whether the files of the checkout do not speak against a fact's right side."""
    lesson = fact.lesson
    words = lesson.right.text.split()
    if not words or _FOLDER_FLAGS.intersection(words):
        # Another folder is meant: which one is not looked at.
        return True
    folder = f"{lesson.right.folder}/" if lesson.right.folder else ""
    program = words[0]
    if lesson.kind is Kind.RUNS and fact.script:
        return _has_script(fact.script, program, folder, read)
    needed = _FILE_OF_PROGRAM.get(program)
    return needed is None or not folder or read(folder + needed) is not None or read(needed) is not None


def _has_script(script: str, program: str, folder: str, read: Callable[[str], str | None]) -> bool:
    if "/" in script:
        return read(folder + script.removeprefix("./")) is not None
    if program in _PACKAGE_PROGRAMS:
        return _package_names(read(f"{folder}package.json"), script)
    if program in {"make", "gmake"}:
        return _names_target([read(folder + name) for name in _MAKEFILES], script)
    if program == "just":
        return _names_target([read(folder + name) for name in _JUSTFILES], script)
    return True


def _package_names(package: str | None, script: str) -> bool:
    if package is None:
        return False
    try:
        scripts = json.loads(package).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        # Half written, or of a form that we do not know.
        return True
    return not isinstance(scripts, dict) or script in scripts


def _names_target(texts: list[str | None], target: str) -> bool:
    found = [text for text in texts if text is not None]
    if not found:
        return False
    line = re.compile(rf"^@?(?:[\w./-]+ )*{re.escape(target)}(?: [^:\n]*)?:(?!=)", re.MULTILINE)
    # What a file includes is not looked at.
    return any(
        line.search(text) or re.search(r"^(?:-?include|import|mod)\b", text, re.MULTILINE) for text in found
    )
