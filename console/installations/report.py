"""What an installation changed, or would change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class Report:
    """What was done, or would be: the files that changed, and what the user should know."""

    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_changed(self, path: Path) -> None:
        """Name a changed file, once."""
        if str(path) not in self.changed:
            self.changed.append(str(path))
