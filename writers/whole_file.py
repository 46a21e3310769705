"""
Writing a file whole: a reader, or a crash, meets either the old file or the new one.

For files of our own; `writers.replacing` replaces those of the user, which others may be writing.
"""

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OWN_FILE_MODE: Final = 0o600
OWN_FOLDER_MODE: Final = 0o700

ACCESS_LIST: Final = "system.posix_acl_access"
"""Linux keeps a file's rights of single people there."""
USER_ATTRIBUTES: Final = "user."

_TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.tokeneconomizer-(?P<pid>[0-9]+)-[0-9a-f]{16}")


def do_nothing(_point: str) -> None:
    """Stand in for a checkpoint."""


@dataclass(frozen=True, slots=True)
class Disk:
    """What a test exchanges to fill the disk or to end the program at a named point."""

    write: Callable[[int, memoryview], int] = os.write
    checkpoint: Callable[[str], None] = do_nothing


REAL_DISK: Final = Disk()


@dataclass(frozen=True, slots=True)
class Rights:
    """How the new file is made, and what is then set on the open descriptor before anyone sees it."""

    creation_mode: int
    settle: Callable[[int], None] = lambda _file: None

    @classmethod
    def exactly(cls, mode: int) -> "Rights":
        """Give rights that hold whatever the umask."""
        return cls(OWN_FILE_MODE, lambda file: os.fchmod(file, mode))

    @classmethod
    def like(cls, old: os.stat_result, attributes: Mapping[str, bytes]) -> "Rights":
        """Give what the old file has, whose owner we are; nobody reads before it is set."""

        def settle(file: int) -> None:
            with suppress(PermissionError):
                os.fchown(file, -1, old.st_gid)
            os.fchmod(file, stat.S_IMODE(old.st_mode))
            _attach(file, attributes)

        return cls(OWN_FILE_MODE, settle)


def _attach(file: int, attributes: Mapping[str, bytes]) -> None:
    """Attach what the old file has; rights that the new one got from its folder alone are taken away."""
    if sys.platform != "linux":
        return
    for attribute, value in attributes.items():
        # Those of other kinds belong to the system, which attaches its own.
        if attribute == ACCESS_LIST or attribute.startswith(USER_ATTRIBUTES):
            os.setxattr(file, attribute, value)
    if ACCESS_LIST not in attributes:
        with suppress(OSError):
            os.removexattr(file, ACCESS_LIST)


def write_whole(path: Path, data: bytes, mode: int = OWN_FILE_MODE, disk: Disk = REAL_DISK) -> None:
    """Write a file of our own."""
    replace_whole(path, data, Rights.exactly(mode), disk=disk)


def write_cache(path: Path, data: bytes) -> None:
    """Write a file of our own that a power cut may lose: waiting for the disk would cost what it saves."""
    temporary = path.with_name(temporary_name(path.name))
    try:
        with os.fdopen(create(temporary, OWN_FILE_MODE), "wb") as file:
            file.write(data)
        os.replace(temporary, path)  # noqa: PTH105 - as below
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def replace_whole(
    path: Path,
    data: bytes,
    rights: Rights,
    last_look: Callable[[], None] = lambda: None,
    disk: Disk = REAL_DISK,
) -> None:
    """Write beside the file, then rename over it; `last_look` may still stop that by raising."""
    remove_stale_temporaries(path)
    temporary = path.with_name(temporary_name(path.name))
    try:
        fill(create(temporary, rights.creation_mode), data, rights, disk)
        last_look()
        disk.checkpoint("compared")
        os.replace(temporary, path)  # noqa: PTH105 - beside the other calls of os, as one sequence
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    disk.checkpoint("replaced")
    sync_folder(path.parent)


def temporary_name(name: str) -> str:
    """Make a name for what is written beside a file, which tells whose it is."""
    return f".{name}.tokeneconomizer-{os.getpid()}-{os.urandom(8).hex()}"


def is_stale_temporary(found: str, name: str) -> bool:
    """Tell whether a name is that of what a killed writer of the file left; a living one's is let be."""
    temporary = _TEMPORARY.fullmatch(found)
    return temporary is not None and temporary["name"] == name and not _lives(int(temporary["pid"]))


def create(path: Path | str, mode: int, folder: int | None = None) -> int:
    """Make a file that was not there, below an open folder if one is given."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode, dir_fd=folder)


def fill(file: int, data: bytes, rights: Rights, disk: Disk) -> None:
    """Write a new file to the disk, give it its rights, and close it."""
    try:
        disk.checkpoint("temporary_opened")
        _write_all(file, data, disk)
        rights.settle(file)
        os.fsync(file)
    finally:
        os.close(file)
    disk.checkpoint("temporary_synced")


def make_own_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, with missing parents of the same kind."""
    for folder in [*reversed(path.parents), path]:
        if not folder.is_dir():
            folder.mkdir(OWN_FOLDER_MODE, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename last; some file systems cannot, and then there is nothing more to do."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_stale_temporaries(path: Path) -> None:
    """Remove what a killed writer of this file left beside it."""
    with suppress(OSError), os.scandir(path.parent) as found:
        for entry in found:
            if is_stale_temporary(entry.name, path.name):
                with suppress(OSError):
                    Path(entry.path).unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _write_all(file: int, data: bytes, disk: Disk) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(file, rest) :]
