"""Folders as command lines name them: reached one from another, and as seen from the checkout."""

from __future__ import annotations

import re
from functools import lru_cache

from tokeneconomizer.domain.shell_words import PLACEHOLDER

FOLDERS_KEPT = 1_024
"""A repository has some dozen folders in which commands are run."""

_PLACEHOLDER = re.compile(PLACEHOLDER)
_DRIVE = re.compile(r"(?:/([A-Za-z])/|([A-Za-z]):[\\/])")


# A shell is told again and again to go where it goes.
@lru_cache(maxsize=FOLDERS_KEPT)
def joined(folder: str, further: str) -> str:
    """Return the folder reached from another one; `?` where that cannot be told."""
    further = further.replace("\\", "/").rstrip("/") or "/"
    if "$" in further or further == "-" or _PLACEHOLDER.search(further) or folder == "?":
        return further if is_absolute(further) else "?"
    if is_absolute(further) or not folder:
        return further
    parts = folder.split("/")
    for part in further.split("/"):
        if part == ".." and parts and parts[-1] not in {"..", "~", ""}:
            parts.pop()
        elif part not in {".", ""}:
            parts.append(part)
    return "/".join(parts) or "."


def is_absolute(folder: str) -> bool:
    """Return whether a folder is named from a root, the home or a drive."""
    return folder.startswith(("/", "~")) or _DRIVE.match(folder) is not None


@lru_cache(maxsize=FOLDERS_KEPT)
def within(folder: str, checkout: str) -> str | None:
    """
    Return a folder as seen from the checkout, empty for the checkout itself; None where it lies elsewhere.

    The home stands as `~` in command lines, and drives are written in several ways.
    """
    if folder in {"", "."}:
        return ""
    if not is_absolute(folder):
        normal = "/".join(part for part in folder.split("/") if part not in {"", "."})
        return None if normal.startswith("..") or "?" in normal else normal
    root, path = _plain(checkout), _plain(folder)
    if path.startswith("~/"):
        place = _shared_tail(root, path[1:])
        return None if place is None else path[1:][place:].strip("/")
    if path == root or path.startswith(root.rstrip("/") + "/"):
        return path[len(root) :].strip("/")
    return None


def _shared_tail(root: str, path: str) -> int | None:
    """Return how much of a path below the home is the end of the checkout's path."""
    for place in range(len(path), 1, -1):
        if (place == len(path) or path[place] == "/") and root.endswith(path[:place]):
            return place
    return None


def _plain(path: str) -> str:
    path = path.replace("\\", "/")
    drive = _DRIVE.match(path)
    return f"/{(drive[1] or drive[2]).lower()}/{path[drive.end() :]}" if drive else path
