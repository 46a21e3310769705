"""What an agent's program says its version is."""

from __future__ import annotations

import re
import shutil
import subprocess

from tokeneconomizer.hosts.recognise import PI

VERSION_S_MAX = 20
"""A program prints its version in a second; on a cold disk it has hundreds of megabytes to load."""

VERSION_CHARACTERS_MAX = 100
"""A version line is some twenty."""

PROGRAMS = {PI: "pi"}
"""Only what one version understands and another does not has to be asked for."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def printed_version(binary: str, search_path: str | None = None) -> str:
    """Return what `binary --version` prints; empty when it cannot be asked. Without a path it is PATH's."""
    program = shutil.which(binary, path=search_path)
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_S_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()[:VERSION_CHARACTERS_MAX]


def version_of(host: str) -> str:
    """Return an agent's version; empty when it makes no difference or cannot be asked."""
    found = _VERSION.search(printed_version(PROGRAMS[host])) if host in PROGRAMS else None
    return found[0] if found else ""
