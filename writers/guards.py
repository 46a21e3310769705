"""What is looked at before a file of the user's is touched, and the refusal for each thing found wrong."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.folders import Folder
from tokeneconomizer.writers.replacing import ChangedMeanwhile

MAX_LINKS: Final = 40
"""Symbolic links followed on one way: Linux's own limit."""
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""A settings file has a few thousand."""

_OUT_OF_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_WRONG_KIND: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, slots=True)
class Place:
    """A file to be changed, and the folder that no link may lead out of: the home or the checkout."""

    root: Path
    file: Path
    real_root: Path = field(init=False, compare=False)
    """Looked up once: a link that takes the root's place later is not followed."""

    def __post_init__(self) -> None:
        """Look the root up; one that is not there yet is counted from the folder that is."""
        standing = next((folder for folder in (self.root, *self.root.parents) if folder.exists()), self.root)
        object.__setattr__(self, "root", standing)
        object.__setattr__(self, "real_root", Path(os.path.realpath(standing)))


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read; `data` and `status` are None where there is none yet."""

    path: Path
    """Where it really lies, all links followed."""
    folder: Folder
    """The innermost folder of the way that is there; open as long as the look lasts."""
    missing: tuple[str, ...]
    """Folders that must be made in it first, the outermost first."""
    data: bytes | None = None
    status: os.stat_result | None = None
    attributes: Mapping[str, bytes] = field(default_factory=dict)
    """What the file has attached beside its mode."""

    def same_as(self, other: "Found") -> bool:
        """Tell whether nobody touched the file between two looks."""
        return (self.path, self.missing, self.data, _identity(self.status), self.folder.identity()) == (
            other.path,
            other.missing,
            other.data,
            _identity(other.status),
            other.folder.identity(),
        )

    def is_under(self, folder: Folder, name: str) -> bool:
        """Tell whether the very file that was read stands under a name now."""
        try:
            data, status = folder.read(name, MAX_FILE_BYTES + 1)
        except OSError:
            return False
        return (data, _identity(status)) == (self.data, _identity(self.status))


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


@contextmanager
def opened_root(place: Place) -> Iterator[Folder]:
    """Hold the root open: from here on nothing that is put into its place is looked at."""
    with refusing_os_errors(place.root):
        folder = Folder.at(str(place.real_root))
    with folder:
        yield folder


@contextmanager
def look(place: Place, root: Folder) -> Iterator[Found]:
    """Find out where the file really lies, whether it may be changed, and what is in it."""
    with ExitStack() as opened:
        with refusing_os_errors(place.file):
            found = _look(place, root, opened)
        yield found


def _look(place: Place, root: Folder, opened: ExitStack) -> Found:
    path = _real_path(place)
    *folders, name = path.relative_to(place.real_root).parts
    folder = opened.enter_context(root.again())
    while folders and folder.status(folders[0]) is not None:
        folder = opened.enter_context(_open_folder(folder, folders.pop(0), path))
    if not folder.may_be_written():
        message = f"{path}: its folder is marked as read-only, or not ours to write to"
        raise WriteRefused(Reason.NOT_WRITABLE, message)
    status = None if folders else folder.status(name)
    if status is None:
        return Found(path, folder, tuple(folders))
    _check_file(path, status)
    try:
        attributes = folder.attributes(name)
        # Last, so that little time is left for a change that is not seen.
        data, status = folder.read(name, MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise ChangedMeanwhile from error
    _check_file(path, status)
    return Found(path, folder, (), data, status, attributes)


def _open_folder(folder: Folder, name: str, path: Path) -> Folder:
    try:
        return folder.folder(name)
    except OSError as error:
        if error.errno not in _WRONG_KIND:
            raise
        if folder.is_link(name):
            # It was none when the way was looked at.
            raise ChangedMeanwhile from error
        message = f"{path}: {name} is not a folder"
        raise WriteRefused(Reason.NOT_A_FILE, message) from error


def _real_path(place: Place) -> Path:
    """Follow the links on the way one by one, so that a way out and back in is seen as well."""
    root, real_root = place.root, place.real_root
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


def _identity(status: os.stat_result | None) -> tuple[int, ...]:
    """Give what changes when a file is written, replaced or given other rights; not its reading time."""
    if status is None:
        return ()
    return (status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)
