"""What programs hand to `te context` as JSON, read strictly: a wrong shape is told, never guessed at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting import (
    ContextAccountingEntry,
    ToolInvocationAccumulator,
    TurnOfRuntime,
)
from tokeneconomizer.domain.accounting.collector import DEFAULT_RULES_FILES, NOT_IN_CALLS
from tokeneconomizer.domain.accounting.snapshot import (
    KINDS,
    Kind,
    checked_kind,
    checked_kinds,
    checked_producer,
)
from tokeneconomizer.domain.context_breakdown import PENDING_SOURCES, Pending, Usage
from tokeneconomizer.domain.errors import BadAccounting

if TYPE_CHECKING:
    from tokeneconomizer.domain.accounting import ToolInvocationRecord

Object = dict[str, object]


def read_object(text: bytes) -> Object:
    """
    Return the one JSON object of an input.

    Raises:
        BadAccounting: it is none.

    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        message = f"the input is no JSON ({error}): give one object on stdin"
        raise BadAccounting(message) from error
    return _object(value, "the input")


def records_in(given: Object) -> tuple[ToolInvocationRecord, ...]:
    """
    Return the records of a turn, each id once.

    Raises:
        BadAccounting: one is no record.

    """
    accumulator = ToolInvocationAccumulator()
    for number, item in enumerate(_list(given, "records"), start=1):
        name = f"record {number}"
        record = _object(item, name)
        if "input" not in record:
            message = f"{name} has no `input`: give the tool's input as the model gave it"
            raise BadAccounting(message)
        tool_use_id = _text(record, "toolUseId", name)
        accumulator.record_tool_use(tool_use_id, _text(record, "toolName", name), record["input"])
        result = record.get("resultContent")
        if result is not None:
            accumulator.record_tool_result(
                tool_use_id, _text(record, "resultContent", name, may_be_empty=True)
            )
    return accumulator.drain()


def turn_in(given: Object, workspace_path: str) -> TurnOfRuntime:
    """
    Return what a runtime supplies beside its records.

    Raises:
        BadAccounting: something is not of its shape, or a name is none of the contract's.

    """
    rules_files = given.get("rulesFiles")
    unsupported = given.get("unsupported")
    return TurnOfRuntime(
        workspace_path=workspace_path,
        produced_by=checked_producer(given.get("producedBy")),
        provider_backend=_optional_text(given, "providerBackend"),
        selected_skills=_texts(given, "selectedSkills"),
        unsupported=NOT_IN_CALLS if unsupported is None else checked_kinds(_list(given, "unsupported")),
        rules_files=DEFAULT_RULES_FILES if rules_files is None else _texts(given, "rulesFiles"),
    )


def workspace_in(given: Object) -> str:
    """
    Return the workspace's path.

    Raises:
        BadAccounting: it is no text.

    """
    return _text(given, "workspacePath", "the input")


def usage_in(given: Object) -> Usage | None:
    """
    Return the reported usage, or None where there is none.

    Raises:
        BadAccounting: a number is none.

    """
    if given.get("usage") is None:
        return None
    usage = _object(given["usage"], "`usage`")
    return Usage(
        input=_optional_count(usage, "input"),
        cache_read=_optional_count(usage, "cacheRead"),
        cache_write=_optional_count(usage, "cacheWrite"),
        output=_optional_count(usage, "output"),
    )


def window_in(given: Object) -> int | None:
    """
    Return the context window, or None where it is unknown.

    Raises:
        BadAccounting: it is no number.

    """
    return _optional_count(given, "contextWindow")


def entries_in(snapshot: object) -> dict[Kind, ContextAccountingEntry]:
    """
    Return a snapshot's entries in the order of kinds; what has no tokens is not there.

    Raises:
        BadAccounting: it is no snapshot.

    """
    if snapshot is None:
        return {}
    given = _object(_object(snapshot, "`snapshot`").get("entries", {}), "`entries` of the snapshot")
    found = {}
    for name, value in given.items():
        entry = _object(value, f"the entry `{name}`")
        tokens = _count(entry, "tokens")
        if tokens:
            source = _text(entry, "source", f"the entry `{name}`")
            found[checked_kind(name)] = ContextAccountingEntry(
                tokens, source, _optional_text(entry, "detail")
            )
    return {kind: found[kind] for kind in KINDS if kind in found}


def pending_in(given: Object) -> list[Pending]:
    """
    Return what waits to be sent.

    Raises:
        BadAccounting: a source is unknown, or a number is none.

    """
    found = []
    for item in _list(given, "pending"):
        pending = _object(item, "an element of `pending`")
        source = pending.get("source")
        if not isinstance(source, str) or source not in PENDING_SOURCES:
            message = f"{source!r} is no source of `pending`: give one of {', '.join(PENDING_SOURCES)}"
            raise BadAccounting(message)
        found.append(Pending(source, _count(pending, "tokens")))
    return found


def _no_constant(name: str) -> object:
    message = f"{name} is no JSON number"
    raise ValueError(message)


def _object(value: object, name: str) -> Object:
    if isinstance(value, dict):
        return value
    message = f"{name} is no object: give a JSON object"
    raise BadAccounting(message)


def _list(given: Object, name: str) -> list[object]:
    value = given.get(name)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    message = f"`{name}` is no list: give a JSON array"
    raise BadAccounting(message)


def _text(given: Object, name: str, where: str, *, may_be_empty: bool = False) -> str:
    value = given.get(name)
    if isinstance(value, str) and (value or may_be_empty):
        return value
    message = f"`{name}` of {where} is no text: give a string"
    raise BadAccounting(message)


def _optional_text(given: Object, name: str) -> str | None:
    value = given.get(name)
    if value is None or isinstance(value, str):
        return value or None
    message = f"`{name}` is no text: give a string, or leave it out"
    raise BadAccounting(message)


def _texts(given: Object, name: str) -> list[str]:
    values = _list(given, name)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return texts
    message = f"`{name}` holds something that is no text: give strings"
    raise BadAccounting(message)


def _optional_count(given: Object, name: str) -> int | None:
    return None if given.get(name) is None else _count(given, name)


def _count(given: Object, name: str) -> int:
    """Return a count; JavaScript may write a whole number as one with a point."""
    value = given.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    message = f"`{name}` is {value!r}: give a whole number of tokens, not below 0"
    raise BadAccounting(message)
