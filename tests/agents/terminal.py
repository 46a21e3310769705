"""
A program in a pseudo-terminal, read as text: enough to press keys and to see whether a sentence was shown.

The screen is not rebuilt: everything ever painted is kept, control sequences removed, and compared without
blanks, since a text interface jumps over blanks with cursor moves.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROWS = 50
COLUMNS = 160
SCREEN_SECONDS_MAX = 40  # for a start on a loaded machine
EXIT_SECONDS_MAX = 10  # after the terminal was closed
READ_BYTES = 65536
POLL_SECONDS = 0.1

CONTROL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # cursor moves, colours, modes
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # device strings
    r"|\x1b[()*+].|\x1b."  # character sets and the short ones
)
ENTER = "\r"
ESCAPE = "\x1b"
DOWN = "\x1b[B"


class ScreenError(Exception):
    """The text that was waited for did not appear."""


def painted_text(raw: bytes) -> str:
    """Return what was painted, without control sequences and blanks."""
    return "".join(CONTROL_SEQUENCE.sub("", raw.decode("utf-8", "replace")).split())


class Terminal:
    """The running program as a context manager; leaving it ends the program."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._raw = b""
        self._primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=dict(environment),
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            start_new_session=True,
        )
        os.close(secondary)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def text(self) -> str:
        """Everything painted so far, without blanks."""
        return painted_text(self._raw)

    @property
    def raw(self) -> bytes:
        """Everything painted so far, as it came."""
        return self._raw

    def press(self, keys: str) -> None:
        """Type the keys as they are."""
        os.write(self._primary, keys.encode())

    def submit(self, text: str) -> None:
        """Type a line, then press Enter by itself: in one piece it would count as pasted text."""
        self.press(text)
        self.wait_for(text)
        self.press(ENTER)

    def shows(self, text: str) -> bool:
        """Say whether the text was painted."""
        return "".join(text.split()) in self.text

    def wait_for(self, text: str, seconds: float = SCREEN_SECONDS_MAX) -> None:
        """Read until the text was painted; ScreenError with the screen's end if it is not in time."""
        deadline = time.monotonic() + seconds
        while not self.shows(text):
            if time.monotonic() > deadline or not self.read_on(POLL_SECONDS):
                message = f"{text!r} did not appear; the screen ends with {self.text[-600:]!r}"
                raise ScreenError(message)

    def read_on(self, seconds: float) -> bool:
        """Read what is painted within the time; False when the program has ended."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self._primary], [], [], left)
            if not ready:
                break
            try:
                chunk = os.read(self._primary, READ_BYTES)
            except OSError:  # the other end is closed
                return False
            if not chunk:
                return False
            self._raw += chunk
        return True

    def close(self) -> int:
        """End the program and return its exit code."""
        self._process.terminate()
        deadline = time.monotonic() + EXIT_SECONDS_MAX
        while self._process.poll() is None and time.monotonic() < deadline:
            self.read_on(POLL_SECONDS)
        if self._process.poll() is None:
            self._process.kill()
        with contextlib.suppress(OSError):
            os.close(self._primary)
        return self._process.wait()
