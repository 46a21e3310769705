"""All projections, in the order in which they are brought up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.projections import (
    accounting,
    audit,
    counters,
    envelope,
    microskills,
    prune_evidence,
)

if TYPE_CHECKING:
    from tokeneconomizer.projections.view import Projection

PROJECTIONS: tuple[Projection, ...] = (
    counters,
    audit,
    accounting,
    envelope,
    microskills,
    prune_evidence,
)
