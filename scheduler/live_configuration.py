"""The configuration in force: read again when the file changed, the last good one while it cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import BadSetting
from tokeneconomizer.domain.settings import Configuration
from tokeneconomizer.scheduler import configuration

if TYPE_CHECKING:
    from pathlib import Path

    import structlog


class LiveConfiguration:
    """
    Follows `config.yaml`.

    Args:
        path: the file.
        log: the daemon's log.

    """

    def __init__(self, path: Path, log: structlog.stdlib.BoundLogger) -> None:
        self._path = path
        self._log = log
        self._stamp: tuple[int, int] | None = None
        self._current = Configuration()
        self.problem = ""

    def __call__(self) -> Configuration:
        """Return the configuration in force."""
        stamp = self._stamp_of_file()
        if stamp != self._stamp:
            self._stamp = stamp
            self._read()
        return self._current

    def _read(self) -> None:
        try:
            self._current = configuration.read(self._path)
            self.problem = ""
        except BadSetting as error:
            self.problem = str(error)
            self._log.warning("configuration kept as it was", reason=self.problem)

    def _stamp_of_file(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - half the time of pathlib's, with each hook call
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
