"""The program that sums up the same logs, for measuring beside it: installed once from npm, pinned."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

VERSION = "20.0.24"
PACKAGE = "ccusage"
PLATFORM_PACKAGE = "@ccusage/ccusage-linux-x64"
"""Holds the native program, which the package itself only starts."""

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALL_SECONDS_MAX = 300


class UnavailableError(Exception):
    """It cannot be installed here; what needs it says so and goes on without."""


def install() -> Path:
    """Return the native program; install it first if the cache does not have it."""
    # The folder in which tests/agents keeps agents.
    cache = Path(os.environ.get("TOKENECONOMIZER_CACHE") or REPOSITORY / ".cache") / "agents"
    folder = cache / f"{PACKAGE}-{VERSION}"
    if not folder.exists():
        npm = shutil.which("npm")
        if npm is None:
            message = f"npm was not found: install Node.js with npm to measure beside {PACKAGE}"
            raise UnavailableError(message)
        partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
        partial.mkdir(parents=True)
        try:
            _npm_install(npm, partial)
            # Renamed whole: a broken download must not look installed. Another run may be first.
            with contextlib.suppress(OSError):
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    binary = folder / "node_modules" / PLATFORM_PACKAGE / "bin" / PACKAGE
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    return binary


def _npm_install(npm: str, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    wanted = [f"{name}@{VERSION}" for name in (PACKAGE, PLATFORM_PACKAGE)]
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact", *wanted]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"npm did not install {' '.join(wanted)} within {INSTALL_SECONDS_MAX} s"
        raise UnavailableError(message) from error
    if done.returncode:
        complaint = next((line for line in done.stderr.splitlines() if line.startswith("npm error")), "")
        message = f"npm could not install {' '.join(wanted)} (is its registry reachable?): {complaint}"
        raise UnavailableError(message)
