"""What a model answered, where it was asked for one JSON object and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def exact_object(answer: str, members: frozenset[str], characters_max: int) -> Mapping[str, object] | None:
    """Return the object of exactly these members that the answer is; None of any other answer."""
    if len(answer) > characters_max:
        return None
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and set(value) == members else None
