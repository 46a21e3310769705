"""What accounting has to know of files: their sizes, and the skills that lie in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.accounting.skills import SkillFile, SkillPlace


class ContextFiles(Protocol):
    """
    Access to files, handed in; `scheduler.context_files` has the real one.

    Nothing here raises: what cannot be read is not there.
    """

    def size_of(self, path: str) -> int | None:
        """Return the bytes of the regular file at an absolute path, or None where there is none."""
        ...

    def skills_in(self, place: SkillPlace, workspace_path: str) -> Sequence[SkillFile]:
        """Return the skills of a place, in the order in which a runtime meets them."""
        ...
