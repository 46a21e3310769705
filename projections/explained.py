"""What an explanation is put together from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokeneconomizer.projections.event_rows import EventRow


@dataclass(slots=True)
class Explained:
    """
    Why one event was decided.

    Attributes:
        rests_on: events, by the way in which they led to it.
        rule: the rule that decided; empty where none did.
        limits: those in force.
        measured: what stood against them.

    """

    rests_on: Mapping[str, Sequence[EventRow]]
    rule: str = ""
    limits: dict[str, object] = field(default_factory=dict)
    measured: dict[str, object] = field(default_factory=dict)
