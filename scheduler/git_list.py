"""Git's own list of ignored files: what we made in a checkout is kept out of git's sight, and shown again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.places import common_git_folder
from tokeneconomizer.writers.edits import AddElement
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.git_tracking import git_ignores
from tokeneconomizer.writers.guarded_write import Surroundings, keep_no_record, restore, write_edits
from tokeneconomizer.writers.guards import Place
from tokeneconomizer.writers.ignore_lines import PATTERNS, IgnoreLines, pattern_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tokeneconomizer.writers.applied import Applied

IN_GIT_FOLDER = "info/exclude"
"""In the git folder that all worktrees share."""


def hide(file: Path, top: Path, keep: Callable[[Applied], None]) -> None:
    """
    Add a line for a file, unless git passes it over already.

    Args:
        file: the file.
        top: of its checkout.
        keep: stores the record of the line before it is written.

    Raises:
        WriteRefused: the list could not be changed, or the line does not hide the file.

    """
    if git_ignores(file):
        return
    place = _place(top)
    if place is None:
        return
    pattern = pattern_of(file.relative_to(top))
    write_edits(place, [AddElement(PATTERNS, pattern)], IgnoreLines(), _in_git(keep))
    if not git_ignores(file):
        message = f"{place.file}: a pattern of the checkout's own wins over the line that hides {pattern}"
        raise WriteRefused(Reason.UNPROVEN_EDIT, message)


def show(top: Path, applied: Applied) -> None:
    """Take the line away that was added; refusals as for `hide`."""
    place = _place(top)
    if place is not None:
        restore(place, applied, IgnoreLines(), _in_git())


def _place(top: Path) -> Place | None:
    common = common_git_folder(top)
    if common is None:
        return None
    if (top / ".git").is_symlink():
        message = f"{top / '.git'} is a link"
        raise WriteRefused(Reason.SYMLINK, message)
    return Place(common, common / IN_GIT_FOLDER)


def _in_git(record: Callable[[Applied], None] = keep_no_record) -> Surroundings:
    """Git tracks nothing of its own folder."""
    return Surroundings(is_tracked=lambda _file: False, record=record)
