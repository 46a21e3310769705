"""All event classes of the domain, and values for their fields, found by looking at the classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from eventsourcing.domain import AggregateEvent
from hypothesis import strategies as st

import tokeneconomizer.domain

# Fields whose words are a closed list.
CLOSED = {
    ("session.prompt_submitted", "kind"): ["human", "machine"],
    ("session.tool_returned", "status"): ["ok", "failed", "never_ran"],
    ("session.turn_ended", "outcome"): ["green", "unverified", "red"],
    ("session.delivery_failed", "failed_topic"): ["session.redirected", "session.stop_hinted"],
    ("session.started", "agent_id"): ["", "agent-1"],
}

BY_TYPE: dict[str, st.SearchStrategy[object]] = {
    "str": st.sampled_from(["", "word", "two words", "ü\U0001f600", "null"]),
    "int": st.integers(0, 5),
    "bool": st.booleans(),
    "float": st.sampled_from([0.0, 1.5]),
    "list[str]": st.lists(st.sampled_from(["Read", "Bash"]), max_size=7),
    "str | None": st.sampled_from([None, "passed"]),
    "int | None": st.sampled_from([None, 0, 1]),
    "float | None": st.sampled_from([None, 0.5]),
    "bool | None": st.sampled_from([None, True]),
}


def event_classes() -> dict[str, type[AggregateEvent]]:
    """Every event class of the domain by its topic."""
    for module in pkgutil.walk_packages(tokeneconomizer.domain.__path__, "tokeneconomizer.domain."):
        importlib.import_module(module.name)
    found: dict[str, type[AggregateEvent]] = {}
    waiting: list[type[AggregateEvent]] = [AggregateEvent]
    while waiting:
        event = waiting.pop()
        waiting += event.__subclasses__()
        if event.__module__.startswith("tokeneconomizer.domain.") and "TOPIC" in vars(event):
            found[vars(event)["TOPIC"]] = event
    return found


def fields_of(event: type[AggregateEvent]) -> dict[str, str]:
    """The event's own fields with their types as written."""
    names: dict[str, str] = {}
    for base in event.__mro__:
        if base.__module__.startswith("tokeneconomizer.domain."):
            names |= {name: str(kind) for name, kind in inspect.get_annotations(base).items()}
    names.pop("TOPIC", None)
    return names


def field_values(topic: str) -> st.SearchStrategy[dict[str, object]]:
    """Values for all fields of an event."""
    return st.fixed_dictionaries(
        {
            name: st.sampled_from(CLOSED[topic, name]) if (topic, name) in CLOSED else BY_TYPE[kind]
            for name, kind in fields_of(event_classes()[topic]).items()
        }
    )
