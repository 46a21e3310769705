"""The tools that a rollout shows: those of the client, of a script's host, and those found by a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.hosts.codex.tools import name_of
from tokeneconomizer.hosts.fields import flag, objects, text
from tokeneconomizer.hosts.records import LoggedTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def tools_in(holder: Mapping[str, object], name: str, *, is_found: bool = False) -> tuple[LoggedTool, ...]:
    """Return the tools of a list field; `is_found` when a search brought them into the context."""
    return tuple(
        LoggedTool(
            name=name_of(namespace, text(tool, "name")),
            characters=len(orjson.dumps(tool).decode()),
            deferred=not is_found and _is_deferred(tool),
        )
        for namespace, tool in _each(objects(holder, name))
        if text(tool, "name")
    )


def _each(tools: list[Mapping[str, object]]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for tool in tools:
        if text(tool, "type") == "namespace":
            yield from ((text(tool, "name"), part) for part in objects(tool, "tools"))
        else:
            yield text(tool, "namespace"), tool


def _is_deferred(tool: Mapping[str, object]) -> bool:
    return flag(tool, "defer_loading") is True or flag(tool, "deferLoading") is True


def removed_in(top_level_tools: Mapping[str, object]) -> tuple[str, ...]:
    """Return the tools that are gone: `namespace.tool` without a hash; a namespace alone is no tool."""
    parts = [name.rpartition(".") for name, known in top_level_tools.items() if known is None]
    return tuple(name_of(namespace, name) for namespace, _, name in parts if namespace)
