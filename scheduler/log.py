"""The daemon's log: one JSON object a line, rotated; no payload text, no environment, no secrets."""

from __future__ import annotations

import logging
import logging.handlers
import os
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from pathlib import Path

LOG_BYTES_MAX = 2_000_000
"""Weeks of ordinary work; with the files kept, 8 MB at most."""

LOG_FILES_KEPT = 3


class _PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """Log files are for the user alone."""

    def _open(self):  # type: ignore[no-untyped-def] # noqa: ANN202 - the library's own private signature
        opened = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        # Half a character is written as JSON writes it, rather than losing the line.
        return os.fdopen(opened, "a", encoding="utf-8", errors="backslashreplace")


class _OneLine(logging.Formatter):
    """The entry holds its traceback already; a second one below it would be no JSON."""

    def formatException(self, ei: object) -> str:  # noqa: ARG002, N802 - the library's name and signature
        return ""


def open_log(path: Path) -> structlog.stdlib.BoundLogger:
    """Return a logger that writes to the file; the folder must exist."""
    handler = _PrivateRotatingFile(path, maxBytes=LOG_BYTES_MAX, backupCount=LOG_FILES_KEPT, encoding="utf-8")
    handler.setFormatter(_OneLine())
    root = logging.getLogger("tokeneconomizer")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.INFO)
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    logger: structlog.stdlib.BoundLogger = structlog.get_logger("tokeneconomizer")
    return logger
