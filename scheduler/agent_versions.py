"""What an agent's program says its version is."""

from __future__ import annotations

import re
import shutil
import subprocess

from tokeneconomizer.hosts.recognise import PI

VERSION_S_MAX = 20
"""The program prints its version in a second; on a cold disk it has hundreds of megabytes to load."""

PROGRAMS = {PI: "pi"}
"""Only what one version understands and another does not has to be asked for."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def version_of(host: str) -> str:
    """Return the version; empty when it makes no difference or cannot be asked."""
    program = shutil.which(PROGRAMS[host]) if host in PROGRAMS else None
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
    found = _VERSION.search(done.stdout)
    return found[0] if found else ""
