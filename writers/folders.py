"""Folders that are held open, so that nothing which takes their place on the path is ever written to."""

import errno
import os
import stat
import sys
from typing import Final, Self

_OPENING: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""Non-blocking, since a pipe may have taken the file's place after it was looked at."""


class Folder:
    """An open folder; names are those of what lies right in it, and links among them are never followed."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    def at(cls, path: str) -> Self:
        """Open a folder by its path, whose last part may be no link."""
        return cls(os.open(path, _OPENING))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def folder(self, name: str) -> "Folder":
        """Open a folder in it."""
        return Folder(os.open(name, _OPENING, dir_fd=self.descriptor))

    def again(self) -> "Folder":
        """Give the same folder with a descriptor of its own."""
        return Folder(os.dup(self.descriptor))

    def status(self, name: str) -> os.stat_result | None:
        """Tell what stands under the name; None where nothing does."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_link(self, name: str) -> bool:
        """Tell whether a link stands under the name."""
        status = self.status(name)
        return status is not None and stat.S_ISLNK(status.st_mode)

    def read(self, name: str, size: int) -> tuple[bytes, os.stat_result]:
        """Read a file up to a size; give its bytes with what the system says of the very file."""
        with open(os.open(name, _READING, dir_fd=self.descriptor), "rb") as file:  # noqa: PTH123 - a descriptor
            status = os.fstat(file.fileno())
            return file.read(size), status

    def may_be_written(self) -> bool:
        """Tell whether entries may be made and removed in it; root, too, respects the mark of its folder."""
        status = os.fstat(self.descriptor)
        is_marked_read_only = status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWUSR
        return not is_marked_read_only and os.access(".", os.W_OK | os.X_OK, dir_fd=self.descriptor)

    def attributes(self, name: str) -> dict[str, bytes]:
        """Give what is attached to a file, such as further rights; nothing where nothing can be."""
        if sys.platform != "linux":
            return {}
        file = os.open(name, _READING, dir_fd=self.descriptor)
        try:
            return {attribute: os.getxattr(file, attribute) for attribute in os.listxattr(file)}
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return {}
            raise
        finally:
            os.close(file)

    def identity(self) -> tuple[int, int]:
        """Give what tells this folder from any other."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino
