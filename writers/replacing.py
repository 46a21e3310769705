"""
Putting a file of the user's in its place while its agent may be writing it too: neither loses a word.

The new file changes places with the old one in one step, and what comes out is looked at once more: if it is
not the one that was read, it goes back. Everything happens in one open folder.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tokeneconomizer.writers.exchange import exchange
from tokeneconomizer.writers.folders import Folder
from tokeneconomizer.writers.whole_file import Disk, Rights, create, fill, is_stale_temporary, temporary_name

GIVING_BACK_ATTEMPTS: Final = 8
"""Each needs one more write of the agent within microseconds."""

Check = Callable[[Folder, str], bool]
"""Tells whether what stands under a name is what was read."""


class ChangedMeanwhile(Exception):
    """The file is not the one that was read."""


def put(folder: Folder, name: str, data: bytes, rights: Rights, disk: Disk, is_read: Check | None) -> None:
    """Write the file; `is_read` is None where there was none."""
    temporary = temporary_name(name)
    try:
        fill(create(temporary, rights.creation_mode, folder.descriptor), data, rights, disk)
        if is_read is None:
            _check_absent(folder, name)
            disk.checkpoint("compared")
            _give_name(folder, temporary, name)
        else:
            _check(is_read(folder, name))
            disk.checkpoint("compared")
            _exchange(folder, temporary, name, is_read)
    finally:
        _remove(folder, temporary)
    disk.checkpoint("replaced")
    sync(folder)


def take_away(folder: Folder, name: str, disk: Disk, is_read: Check) -> None:
    """Remove the file, if it is still the one that was read."""
    _check(is_read(folder, name))
    disk.checkpoint("compared")
    aside = temporary_name(name)
    _rename(folder, name, aside)
    if not is_read(folder, aside):
        with suppress(ChangedMeanwhile):
            _give_name(folder, aside, name)
        _remove(folder, aside)
        raise ChangedMeanwhile
    _remove(folder, aside)
    disk.checkpoint("replaced")
    sync(folder)


def sync(folder: Folder) -> None:
    """Make a rename last; some file systems cannot, and then there is nothing more to do."""
    with suppress(OSError):
        os.fsync(folder.descriptor)


def remove_stale(folder: Folder, name: str) -> None:
    """Remove what a killed writer of this file left beside it."""
    with suppress(OSError):
        for found in os.listdir(folder.descriptor):  # noqa: PTH208 - an open folder, not a path
            if is_stale_temporary(found, name):
                _remove(folder, found)


def _exchange(folder: Folder, temporary: str, name: str, is_read: Check) -> None:
    ours = folder.status(temporary)
    if not _swap(folder, temporary, name):
        os.replace(temporary, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
        return
    if is_read(folder, temporary):
        return
    # Somebody wrote between the last look and the exchange. Whatever comes out instead of our own file was
    # written later still, and goes back as well.
    for _ in range(GIVING_BACK_ATTEMPTS):
        _swap(folder, temporary, name)
        if _same_file(folder.status(temporary), ours):
            break
    raise ChangedMeanwhile


def _swap(folder: Folder, temporary: str, name: str) -> bool:
    try:
        return exchange(folder.descriptor, temporary, name)
    except FileNotFoundError as error:
        raise ChangedMeanwhile from error


def _same_file(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is not None and other is not None and os.path.samestat(one, other)


def _give_name(folder: Folder, temporary: str, name: str) -> None:
    """Give the file its name unless that is taken."""
    try:
        os.link(
            temporary,
            name,
            src_dir_fd=folder.descriptor,
            dst_dir_fd=folder.descriptor,
            follow_symlinks=False,
        )
    except FileExistsError as error:
        raise ChangedMeanwhile from error
    except OSError:
        # A file system without hard links.
        _check_absent(folder, name)
        _rename(folder, temporary, name)


def _rename(folder: Folder, old: str, new: str) -> None:
    try:
        os.rename(old, new, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    except FileNotFoundError as error:
        raise ChangedMeanwhile from error


def _check_absent(folder: Folder, name: str) -> None:
    _check(folder.status(name) is None)


def _check(is_as_read: bool) -> None:  # noqa: FBT001 - the one thing it is told
    if not is_as_read:
        raise ChangedMeanwhile


def _remove(folder: Folder, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder.descriptor)
