"""Runner verdicts as short texts, for tables of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokeneconomizer.domain.verdicts import RunnerVerdict


def in_words(said: RunnerVerdict) -> str:
    """Return a verdict with the numbers that are shown, such as `failed, 2 passed, 1 failed`."""
    numbers = {name: getattr(said, name) for name in ("passed", "failed", "errors", "skipped")}
    shown = [f"{number} {name}" for name, number in numbers.items() if number is not None]
    return ", ".join([said.verdict.value, *shown])
