"""What an agent's program says its version is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from tokeneconomizer.hosts.recognise import PI
from tokeneconomizer.scheduler.foreign_files import beginning_of

VERSION_S_MAX = 20
"""A program prints its version in a second; on a cold disk it has hundreds of megabytes to load."""

VERSION_CHARACTERS_MAX = 100
"""A version line is some twenty."""

MODULES = "node_modules"

PACKAGE_BYTES_MAX = 1_000_000
"""A package file is some kilobytes."""

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


def packaged_version(binary: str, search_path: str | None = None) -> str:
    """Return the version of the npm package that a program comes from; empty where it comes from none."""
    program = shutil.which(binary, path=search_path)
    real = Path(os.path.realpath(program)) if program else Path()
    # Its package is the outermost folder in the innermost `node_modules`, or, of a scope, the one below.
    for folder in real.parents:
        inner = folder.parent if folder.parent.name.startswith("@") else folder
        if inner.parent.name == MODULES:
            return _version_in(beginning_of(folder / "package.json", PACKAGE_BYTES_MAX))
    return ""


def _version_in(package: bytes) -> str:
    try:
        version = json.loads(package)["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return version[:VERSION_CHARACTERS_MAX] if isinstance(version, str) else ""


def version_of(host: str) -> str:
    """Return an agent's version; empty when it makes no difference or cannot be asked."""
    found = _VERSION.search(printed_version(PROGRAMS[host])) if host in PROGRAMS else None
    return found[0] if found else ""
