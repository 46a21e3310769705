"""The tools of a session: whole definitions in the shape of a request (2.1.310), names in older lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.hosts.fields import flag, mapping, moment, objects, text
from tokeneconomizer.hosts.records import LoggedCatalogue, LoggedTool

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACEHOLDER = "DeferredToolPlaceholder"
"""Keeps the place of tools that may be loaded later; nobody can call it."""


def of_request(number: int, line: Mapping[str, object], agent_id: str) -> LoggedCatalogue:
    """Return the tools that a request carried, and the size of its system prompt."""
    definitions = objects(mapping(line, "shape"), "tools")
    tools = tuple(_tool(one) for one in definitions if text(one, "name") not in {"", PLACEHOLDER})
    prompt = "".join(text(block, "text") for block in objects(mapping(line, "shape"), "system"))
    return LoggedCatalogue(
        line=number,
        at=moment(line, "timestamp"),
        tools=tools,
        whole=True,
        agent_id=agent_id,
        prompt_characters=len(prompt) or None,
    )


def of_delta(number: int, line: Mapping[str, object], agent_id: str) -> LoggedCatalogue | None:
    """Return the names that were added and removed; None when it says of neither."""
    delta = mapping(line, "attachment")
    added, removed = _names(delta, "addedNames"), _names(delta, "removedNames")
    if not added and not removed:
        return None
    tools = tuple(LoggedTool(name, deferred=True) for name in added)
    return LoggedCatalogue(
        number, moment(line, "timestamp"), tools, whole=False, removed=tuple(removed), agent_id=agent_id
    )


def _tool(definition: Mapping[str, object]) -> LoggedTool:
    deferred = flag(definition, "defer_loading") is True
    return LoggedTool(text(definition, "name"), len(orjson.dumps(definition).decode()), deferred)


def _names(delta: Mapping[str, object], field: str) -> list[str]:
    names = delta.get(field)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
