"""What is looked at before a file of the user's is touched, and the refusal for each thing found wrong."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tokeneconomizer.writers.errors import Reason, WriteRefused

MAX_LINKS: Final = 40
"""Symbolic links followed on one way: Linux's own limit."""
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""A settings file has a few thousand."""

_OUT_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_WRONG_KIND: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, slots=True)
class Place:
    """A file to be changed, and the folder that no link may lead out of: the home or the checkout."""

    root: Path
    file: Path


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read; `data` and `status` are None where there is none yet."""

    path: Path
    """Where it really lies, all links followed."""
    data: bytes | None
    status: os.stat_result | None
    missing_folders: tuple[Path, ...]
    """Folders that must be made first, the outermost first."""

    def same_as(self, other: "Found") -> bool:
        """Tell whether nobody touched the file between two looks."""
        return (self.path, self.data, _identity(self.status)) == (
            other.path,
            other.data,
            _identity(other.status),
        )


@contextmanager
def refusing_os_errors(path: Path) -> Iterator[None]:
    """Turn what the system says into a refusal with its reason."""
    try:
        yield
    except OSError as error:
        reason = Reason.NOT_WRITABLE
        if error.errno in _OUT_OF_SPACE:
            reason = Reason.NO_SPACE
        elif error.errno in _WRONG_KIND:
            reason = Reason.NOT_A_FILE
        message = f"{path}: {error.strerror or error}"
        raise WriteRefused(reason, message) from error


def look(place: Place) -> Found:
    """Find out where the file really lies, whether it may be changed, and what is in it."""
    with refusing_os_errors(place.file):
        path = _real_path(place)
        missing = tuple(reversed([folder for folder in path.parents if not _stands(folder)]))
        _check_folder((missing[0] if missing else path).parent)
        if missing or not _stands(path):
            return Found(path, None, None, missing)
        _check_file(path, path.lstat())
        data, status = _read(path)
        _check_file(path, status)
        return Found(path, data, status, ())


def _real_path(place: Place) -> Path:
    """Follow the links on the way one by one, so that a way out and back in is seen as well."""
    root, real_root = place.root, Path(os.path.realpath(place.root))
    way = place.file
    for _ in range(MAX_LINKS):
        base = next((base for base in (root, real_root) if way.is_relative_to(base)), None)
        if base is None or ".." in way.parts or way == base:
            message = f"{place.file}: the way to it leads out of {root}"
            raise WriteRefused(Reason.SYMLINK, message)
        inner = way.relative_to(base)
        steps = [base.joinpath(*inner.parts[: count + 1]) for count in range(len(inner.parts))]
        link = next((step for step in steps if step.is_symlink()), None)
        if link is None:
            return real_root / inner
        target = os.path.normpath(link.parent / link.readlink())
        way = Path(target) / way.relative_to(link)
    message = f"{place.file}: its links lead in a circle"
    raise WriteRefused(Reason.NOT_A_FILE, message)


def _stands(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        message = f"{folder} is not a folder"
        raise WriteRefused(Reason.NOT_A_FILE, message)
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"{folder} cannot be written to"
        raise WriteRefused(Reason.NOT_WRITABLE, message)


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        message = f"{path} is not a regular file"
        raise WriteRefused(Reason.NOT_A_FILE, message)
    if status.st_uid != os.geteuid():
        message = f"{path} belongs to another user"
        raise WriteRefused(Reason.NOT_WRITABLE, message)
    if not status.st_mode & stat.S_IWUSR:
        message = f"{path} is marked as read-only"
        raise WriteRefused(Reason.NOT_WRITABLE, message)
    if status.st_size > MAX_FILE_BYTES:
        message = f"{path} is larger than {MAX_FILE_BYTES} bytes"
        raise WriteRefused(Reason.NOT_PARSABLE, message)


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    # Non-blocking, since a pipe may have taken the file's place after it was looked at.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        status = os.fstat(file.fileno())
        return file.read(MAX_FILE_BYTES + 1), status


def _identity(status: os.stat_result | None) -> tuple[int, ...]:
    """Give what changes when a file is written, replaced or given other rights; not its reading time."""
    if status is None:
        return ()
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)
