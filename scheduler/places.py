"""Which repository and checkout a folder belongs to, read from git's files without running git."""

from __future__ import annotations

import os
from pathlib import Path

from tokeneconomizer.domain.commands import Place
from tokeneconomizer.domain.identity import normalise_remote, origin_url
from tokeneconomizer.scheduler.foreign_files import beginning_of

GIT_CONFIG_BYTES_MAX = 1_000_000
"""A config is a few hundred bytes; what is larger is none."""

PATH_CHARACTERS_MAX = 4_096
"""Systems take no longer one; looking for a folder along a path of megabytes would take minutes."""

CEILING_VARIABLE = "GIT_CEILING_DIRECTORIES"


def place_of(folder: str, user_home: str, ceilings: str = "") -> Place:
    """
    Return the identity and checkout of a folder.

    Args:
        folder: the agent's working folder.
        user_home: the search for `.git` stops there.
        ceilings: as GIT_CEILING_DIRECTORIES: the search stops at these as well.

    Returns:
        identity: the normalised origin, else the common git folder's real path, else the folder's real path.

    """
    start = _real(folder) or os.path.realpath(user_home)
    stops = {_real(path) for path in [user_home, *ceilings.split(os.pathsep)]}
    checkout = _checkout_above(start, stops)
    if checkout is None:
        return Place(repository=f"path:{start}", checkout=start)
    git_folder = _git_folder(checkout)
    common = _common_folder(git_folder)
    origin = origin_url(_read(common / "config", GIT_CONFIG_BYTES_MAX))
    repository = normalise_remote(origin) if origin else f"path:{_real(str(common)) or common}"
    return Place(repository=repository, checkout=str(checkout))


def common_git_folder(checkout: Path) -> Path | None:
    """Return the git folder that a checkout shares with its worktrees; None where there is no git."""
    if not os.path.exists(checkout / ".git"):  # noqa: PTH110 - pathlib's raises where we may not look
        return None
    return Path(os.path.realpath(_common_folder(_git_folder(checkout))))


def main_checkout(checkout: Path) -> Path:
    """Return the checkout that a linked worktree belongs to, else the checkout itself."""
    common = common_git_folder(checkout)
    return common.parent if common is not None and common.name == ".git" else checkout


def _checkout_above(start: str, stops: set[str]) -> Path | None:
    for folder in [Path(start), *Path(start).parents]:
        # A home folder kept in git is no repository of the projects below it; when it is the
        # working folder itself, it is one.
        if str(folder) in stops and str(folder) != start:
            return None
        if os.path.exists(folder / ".git"):  # noqa: PTH110 - pathlib's raises where a folder is not ours to look into
            return folder
    return None


def _real(path: str) -> str:
    """Return the real path; nothing for an empty one, and for one that no system takes."""
    if not 0 < len(path) <= PATH_CHARACTERS_MAX:
        return ""
    try:
        return os.path.realpath(path)
    except (PermissionError, ValueError):
        # A link that is not ours to read raises even here.
        return ""


def _git_folder(checkout: Path) -> Path:
    """Return the checkout's own git folder: `.git`, or where its `.git` file points."""
    marker = checkout / ".git"
    if os.path.isdir(marker):  # noqa: PTH112 - as above
        return marker
    text = _read(marker, PATH_CHARACTERS_MAX)
    target = text.partition("gitdir:")[2].strip()
    return (checkout / target) if target else marker


def _common_folder(git_folder: Path) -> Path:
    """Return the git folder that a worktree shares with its main checkout."""
    named = _read(git_folder / "commondir", PATH_CHARACTERS_MAX).strip()
    return (git_folder / named) if named else git_folder


def _read(path: Path, size: int) -> str:
    return beginning_of(path, size).decode("utf-8", "replace")
