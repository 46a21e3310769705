"""What green turns of a repository take with one agent, and how far outside of it the gate looks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.guard.limits import Limits

GREEN_TURNS_MIN = 20
"""Of fewer turns the tenth that takes most is one or two of them: a chance, not a habit."""

USUAL_SHARE = 0.9
"""What nine of ten green turns stay within is usual; the largest one says nothing, for it is an accident."""

TIMES_USUAL = 2
"""Twice what is usual is far outside; less is a harder task."""

LEAST_SHARE_OF_SETTING = 2
"""Where green turns are tiny, half of the setting still counts as inside: the gate has to stay rare."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """
    What nine of ten green turns stay within.

    Attributes:
        green_turns: how many turns are known.

    """

    green_turns: int
    calls: int
    failures: int
    edits: int
    minutes: int


def with_envelope(limits: Limits, envelope: Envelope | None) -> Limits:
    """Return the limits with the gate's numbers as the envelope has them, once enough turns are known."""
    if envelope is None or envelope.green_turns < GREEN_TURNS_MIN:
        return limits
    return replace(
        limits,
        gate_calls=_far_outside(envelope.calls, limits.gate_calls),
        gate_failures=_far_outside(envelope.failures, limits.gate_failures),
        gate_edits=_far_outside(envelope.edits, limits.gate_edits),
        gate_minutes=_far_outside(envelope.minutes, limits.gate_minutes),
        green_turns=envelope.green_turns,
    )


def _far_outside(usual: int, setting: int) -> int:
    return max(TIMES_USUAL * usual, setting // LEAST_SHARE_OF_SETTING)
