"""Files that hold sessions: found, and told apart from what they were, without opening one."""

from __future__ import annotations

import fnmatch
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def files_below(folder: str | Path, pattern: str, passed_over: str = "") -> list[str]:
    """Return the files of such names in a folder and all below it, but for folders of the last name."""
    found = []
    for parent, folders, names in os.walk(folder):
        if passed_over in folders:
            folders.remove(passed_over)
        found += [f"{parent}{os.sep}{name}" for name in fnmatch.filter(names, pattern)]
    return sorted(found)


def mark_of(path: str) -> str:
    """Return a file's mark; see `hosts.log_format.LogFormat.mark`."""
    try:
        found = os.stat(path)  # noqa: PTH116 - thousands of files: pathlib takes twice as long
    except OSError:
        return "absent"
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
