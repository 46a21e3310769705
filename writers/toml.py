"""
The format of Codex's configuration: lines are put in and taken out, all else keeps its bytes.

What is written is always whole lines, a table's at the end, so that taking them away gives the first bytes
back. Where they go is tried, not parsed: `tomllib` reads the text up to a line, or without it, and tells.
Dumping with `tomlkit` would move tables and change line ends; it renders keys and values here, and takes a
member out of the few forms that hold no line of their own.
"""

import json
import tomllib
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tokeneconomizer.writers.edit_model import changed
from tokeneconomizer.writers.edits import (
    JSON,
    AddMember,
    Document,
    Edit,
    Path,
    RemoveEmpty,
    RemoveMember,
    SetMember,
    TakeAway,
)
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_spans import BYTE_ORDER_MARK, body_start
from tokeneconomizer.writers.splices import Splice
from tokeneconomizer.writers.toml_lines import (
    Line,
    block_of,
    header_of,
    line_break_before,
    line_break_of,
    lines_of,
    root_end,
    value_of,
)

_TIME_KEY: Final = "\0time"
"""Marks a time among JSON values: in a list, as an object would pass for a table that takes members."""


class Toml:
    """
    Reads with `tomllib`, and edits by lines: the one proves the other.

    Args:
        comment_of: the comment, `# …`, of a line that is added for a path; it marks our lines.
        problem_of: why the file's agent would not take a value that is TOML all the same, else empty.

    """

    def __init__(
        self,
        comment_of: Callable[[Path], str] = lambda _path: "",
        problem_of: Callable[[Document], str] = lambda _value: "",
    ) -> None:
        self._comment_of = comment_of
        self._problem_of = problem_of

    def parse(self, text: str) -> Document:
        """Give the document's value; an empty file is an empty document."""
        try:
            read = tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
            value = {key: _as_json(inner) for key, inner in read.items()}
        except (ValueError, RecursionError) as error:
            message = f"it is no TOML 1.0: {error}"
            raise WriteRefused(Reason.NOT_PARSABLE, message) from error
        if problem := self._problem_of(value):
            raise WriteRefused(Reason.NOT_PARSABLE, problem)
        return value

    def edit(self, text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
        """Give the splices that make the edits."""
        splices: list[Splice] = []
        for edit in edits:
            splice = self._splice(text, edit)
            if splice is not None:
                splices.append(splice)
                text = splice.make(text)
                self._check_readable(text, edit)
        return tuple(splices)

    def _check_readable(self, text: str, edit: Edit) -> None:
        """Refuse an edit that spoils the text, rather than blame the text at the next one."""
        try:
            self.parse(text)
        except WriteRefused as refused:
            message = f"{'.'.join(edit.path)} has no place there that its agent could read"
            raise WriteRefused(Reason.UNPROVEN_EDIT, message) from refused

    def proves(self, value: Document, wanted: Document, edits: Sequence[Edit]) -> bool:
        """Compare; tables on the way to an edit are there or not as their last key is."""
        ways = [edit.path for edit in edits]
        return _text_of(_without_empty(value, ways)) == _text_of(_without_empty(wanted, ways))

    def is_empty(self, text: str) -> bool:
        """Tell whether no comment of anybody's is left either."""
        return not text[body_start(text) :].strip()

    def _splice(self, text: str, edit: Edit) -> Splice | None:
        value = self.parse(text)
        wanted = changed(value, [edit])
        if self.proves(value, wanted, [edit]):
            return None
        match edit:
            case AddMember(path, new) | SetMember(path, new):
                return self._insertion(text, path, new)
            case TakeAway(path) | RemoveMember(path) | RemoveEmpty(path):
                return self._removal(text, path, wanted, edit)
            case _:
                message = f"{'.'.join(edit.path)} is not changed in place"
                raise WriteRefused(Reason.UNPROVEN_EDIT, message)

    def _insertion(self, text: str, path: Path, value: JSON) -> Splice:
        if isinstance(value, dict):
            return _table_added(text, path, value)
        lines, line_break = lines_of(text), line_break_of(text)
        at, depth = root_end(text, lines), 0
        for length in range(len(path) - 1, 0, -1):
            header = header_of(text, lines, path[:length])
            if header is not None:
                at, depth = self._behind_ours(lines, header.end, path), length
                break
        comment = self._comment_of(path)
        line = f"{_rendered_key(path[depth:])} = {_rendered(value)}{'  ' if comment else ''}{comment}"
        if at == len(text) and text[body_start(text) :] and not text.endswith("\n"):
            return Splice(at, "", line_break + line)
        return Splice(at, "", line + line_break)

    def _behind_ours(self, lines: Sequence[Line], at: int, path: Path) -> int:
        """Go past lines of ours, so that they stand in the order in which they were written."""
        marker = self._comment_of(path).partition(":")[0]
        for line in lines:
            if marker and line.start == at and marker in line.text and value_of(line.text) is not None:
                at = line.end
        return at

    def _removal(self, text: str, path: Path, wanted: Document, edit: Edit) -> Splice:
        block = block_of(text, path) if isinstance(_member(self.parse(text), path), dict) else None
        if block is not None:
            splice = Splice(block[0], text[slice(*block)], "")
            if self._gives(splice.make(text), wanted, edit):
                return splice
        for line in lines_of(text):
            if path[-1] not in line.text:
                continue
            start = line.start
            if not line.text.endswith("\n"):
                start -= len(line_break_before(text, start))
            splice = Splice(start, text[start : line.end], "")
            if self._gives(splice.make(text), wanted, edit):
                return splice
        return _taken_out(text, path)

    def _gives(self, text: str, wanted: Document, edit: Edit) -> bool:
        try:
            return self.proves(self.parse(text), wanted, [edit])
        except WriteRefused:
            return False


def _as_json(value: object) -> JSON:
    match value:
        case dict():
            return {str(key): _as_json(inner) for key, inner in value.items()}
        case list():
            return [_as_json(inner) for inner in value]
        case datetime() | date() | time():
            return [_TIME_KEY, repr(value)]
        case bool() | int() | float() | str():
            return value
        case _:
            message = f"{type(value).__name__} is no value of TOML"
            raise TypeError(message)


def _text_of(value: Document) -> str:
    """Give a text that is the same for the same value; the order of keys means nothing."""
    return json.dumps(value, sort_keys=True)


def _without_empty(value: Document, ways: Sequence[Path]) -> Document:
    edits = [RemoveEmpty(way[:length]) for way in ways for length in range(len(way) - 1, 0, -1)]
    empty_tables = [edit for edit in edits if _member(value, edit.path) != []]
    return changed(value, empty_tables)


def _member(value: JSON, path: Path) -> JSON:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _table_added(text: str, path: Path, table: Document) -> Splice:
    """Put a table at the end, behind a blank line, as Codex itself does."""
    line_break = line_break_of(text)
    is_first = not text[body_start(text) :]
    above = [] if is_first else [""] if text.endswith("\n") else ["", ""]
    keys = [f"{_rendered_key((key,))} = {_rendered(value)}" for key, value in table.items()]
    return Splice(len(text), "", line_break.join([*above, f"[{_rendered_key(path)}]", *keys, ""]))


def _rendered_key(path: Path) -> str:
    return ".".join(tomlkit.key(key).as_string() for key in path)


def _rendered(value: JSON) -> str:
    if value is None or isinstance(value, dict):
        message = "only plain values, lists of them, and tables of both are added to TOML"
        raise WriteRefused(Reason.UNPROVEN_EDIT, message)
    return tomlkit.item(value).as_string()


def _taken_out(text: str, path: Path) -> Splice:
    """Take a member out of what is not a line of its own, such as an inline table."""
    start = body_start(text)
    try:
        document = tomlkit.parse(text[start:])
        holder: Any = document
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]
        new = text[:start] + tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, ValueError) as error:
        message = f"{'.'.join(path)} cannot be taken out"
        raise WriteRefused(Reason.UNPROVEN_EDIT, message) from error
    return Splice(0, text, new)
