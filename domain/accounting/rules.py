"""Which rules files an agent loads in a workspace."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokeneconomizer.domain.accounting.files import ContextFiles

Alternatives = tuple[str, ...]
"""File names of which the first one counts that is there and not empty."""


@dataclass(frozen=True, slots=True)
class RulesFiles:
    """
    The places of an agent's rules.

    Attributes:
        own: absolute; they hold in every workspace.
        in_workspace: relative to it.
        above: the same in each folder above the workspace.

    """

    own: tuple[Alternatives, ...] = ()
    in_workspace: tuple[Alternatives, ...] = ()
    above: tuple[Alternatives, ...] = ()

    def loaded_in(self, workspace_path: str, files: ContextFiles) -> list[str]:
        """Return the absolute paths of those that the agent loads."""
        found: list[str] = []
        for alternatives in self._places(posixpath.normpath(workspace_path)):
            found += [path for path in alternatives if files.size_of(path)][:1]
        # The user's home may lie above the workspace.
        return list(dict.fromkeys(found))

    def _places(self, workspace: str) -> Iterator[list[str]]:
        yield from map(list, self.own)
        yield from (_below(workspace, names) for names in self.in_workspace)
        folder = workspace
        while self.above and (parent := posixpath.dirname(folder)) not in {folder, ""}:
            folder = parent
            yield from (_below(folder, names) for names in self.above)


def _below(folder: str, names: Alternatives) -> list[str]:
    return [posixpath.join(folder, name) for name in names]
