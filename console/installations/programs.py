"""An agent's own program: where it is, and what it says of its version."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

VERSION_S_MAX = 20
"""An agent prints its version in a second; on a cold disk it has 400 MB to load."""

VERSION_CHARACTERS_MAX = 100
"""A version line is some twenty."""


def printed_version(binary: str) -> str:
    """Return what `binary --version` prints; empty when it cannot be asked."""
    program = shutil.which(binary)
    if program is None:
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_S_MAX, check=True
        )
        return done.stdout.strip()[:VERSION_CHARACTERS_MAX]
    return ""


def agents_home_from(option: Path | None) -> Path:
    """Return where agents' own files are looked for."""
    return option or Path(os.environ.get("HOME") or Path.home())
