"""Reading a foreign JSON object: each function gives the field in the asked type, or its neutral value."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from tokeneconomizer.domain.errors import BadPayload

if TYPE_CHECKING:
    from collections.abc import Mapping


def text(payload: Mapping[str, object], name: str) -> str:
    """Return a text field; empty when absent or of another type."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def required_text(payload: Mapping[str, object], name: str) -> str:
    """Return a text field that must be there and not be empty."""
    value = text(payload, name)
    if not value:
        message = f"the payload has no `{name}`: nothing was stored for it"
        raise BadPayload(message)
    return value


def whole_number(payload: Mapping[str, object], name: str) -> int | None:
    """Return an integer field; None when absent, beyond 64 bits or of another type."""
    value = payload.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(2**63) <= value < 2**63 else None


def count(payload: Mapping[str, object], name: str) -> int | None:
    """Return how many there are; None when absent, negative, no whole number or beyond 64 bits."""
    value = payload.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**63 else None


def number(payload: Mapping[str, object], name: str) -> float | None:
    """Return a numeric field; None when absent, not finite or of another type."""
    value = payload.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    as_float = float(value) if abs(value) < 2**63 else float("inf")
    return as_float if as_float - as_float == 0 else None


def flag(payload: Mapping[str, object], name: str) -> bool | None:
    """Return a boolean field; None when absent or of another type."""
    value = payload.get(name)
    return value if isinstance(value, bool) else None


def moment(payload: Mapping[str, object], name: str) -> datetime | None:
    """Return a time field; None when absent or no time."""
    return time_of(text(payload, name))


def time_of(written: str) -> datetime | None:
    """Return a time that is written as in ISO 8601, None when it is none; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def mapping(payload: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return an object field; empty when absent or of another type."""
    value = payload.get(name)
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def objects(payload: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Return the objects of a list field; other elements are passed over."""
    value = payload.get(name)
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []
