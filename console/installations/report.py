"""What an installation changed, or would change."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """What was done, or would be: the files that changed, and what the user should know."""

    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
