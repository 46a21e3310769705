"""Files of ours that an agent loads: written where they differ, so that a second run changes nothing."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokeneconomizer.console.installations.report import Report


def write_own_files(folder: Path, files: Mapping[str, str], report: Report, *, dry_run: bool) -> None:
    """Have the files (relative path -> text) in a folder of ours."""
    for name, text in files.items():
        path = folder / name
        data = text.encode()
        with suppress(OSError):
            if path.read_bytes() == data:
                continue
        report.changed.append(str(path))
        if not dry_run:
            make_own_folder(path.parent)
            write_whole(path, data)


def remove_own_folder(folder: Path, report: Report, *, dry_run: bool) -> None:
    """Remove a folder of ours with all that is in it."""
    if folder.exists():
        report.changed.append(str(folder))
        if not dry_run:
            shutil.rmtree(folder)


def remove_empty_folder(folder: Path, report: Report, *, dry_run: bool) -> None:
    """Remove a folder that an agent made for us, where nothing is in it."""
    if not folder.is_dir():
        return
    with suppress(OSError):
        if not dry_run:
            folder.rmdir()
        report.changed.append(str(folder))
