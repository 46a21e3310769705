"""Files of ours that an agent loads: written where they differ, so that a second run changes nothing."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.console.checks import ok, problem
from tokeneconomizer.writers.guards import refusing_os_errors
from tokeneconomizer.writers.whole_file import make_own_folder, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.console.checks import Finding
    from tokeneconomizer.console.installations.report import Report


def write_own_files(folder: Path, files: Mapping[str, str], report: Report, *, dry_run: bool) -> None:
    """Have the files (relative path -> text) in a folder of ours."""
    for name, text in files.items():
        path = folder / name
        if _holds(path, text):
            continue
        report.add_changed(path)
        if not dry_run:
            with refusing_os_errors(path):
                make_own_folder(path.parent)
                write_whole(path, text.encode())


def look_at_own_files(folder: Path, files: Mapping[str, str], title: str, name: str) -> Iterator[Finding]:
    """
    Return what is wrong with our files in a folder: gone, or written for another program than this one.

    Args:
        folder: where the agent loads them from.
        files: what this program would write: relative path -> text.
        title: the agent's name for people.
        name: its name for `te setup`.

    """
    advice = f"run `te setup {name}`"
    if not folder.is_dir():
        yield problem(f"{title} is to load our plugin, but {folder} is missing", advice)
        return
    differing = [path for path, text in files.items() if not _holds(folder / path, text)]
    if differing:
        # The interpreter's path stands in them: after a move the agent calls one that is gone.
        words = f"{title} loads a plugin that another installation of this program wrote"
        yield problem(f"{words} ({folder / differing[0]} differs)", advice)
        return
    yield ok(f"{title} loads our plugin")


def _holds(path: Path, text: str) -> bool:
    with suppress(OSError):
        return path.read_bytes() == text.encode()
    return False


def remove_own_folder(folder: Path, report: Report, *, dry_run: bool) -> None:
    """Remove a folder of ours with all that is in it; of a link that someone put there, the link alone."""
    if folder.is_symlink() or folder.exists():
        report.add_changed(folder)
        if not dry_run:
            with refusing_os_errors(folder):
                if folder.is_symlink() or not folder.is_dir():
                    folder.unlink()
                else:
                    shutil.rmtree(folder)


def remove_empty_folders(folders: Iterable[Path], report: Report, *, dry_run: bool) -> None:
    """Remove folders that an agent made for us, the innermost first, where nothing is in them."""
    for folder in folders:
        with suppress(OSError):
            # In a dry run what is to be removed before is still there.
            if {str(path) for path in folder.iterdir()} <= set(report.changed):
                if not dry_run:
                    folder.rmdir()
                report.add_changed(folder)
