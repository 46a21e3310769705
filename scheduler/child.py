"""Child processes of the daemon: one leaves the hooks' round trip as it is, a thread does not."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from tokeneconomizer.scheduler.home import HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOWEST_PRIORITY = 19
"""Of every child: whoever has a hook to answer goes first."""

EXIT_FAILED = 1

EXIT_BUSY = 75
"""The system's own number for `try again later`."""

ENVIRONMENT_NAMES = ("HOME", "LANG", "LC_ALL", "TMPDIR")
"""What a child needs to find its state and to write its words; the rest is none of its business."""

ERROR_CHARACTERS_KEPT = 2_000
"""The end of what the child said: the newest error with its words."""


def command_of(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line that runs a module of ours, whatever lies in the working folder."""
    return (sys.executable, "-I", "-m", f"tokeneconomizer.{module}", *arguments)


async def run_child(
    command: Sequence[str], home: Path, more: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """
    Run a child to its end; return its exit status and the end of what it said.

    It is killed when the caller is cancelled: what it did so far is done over by the next one.

    Args:
        command: as `command_of` returns it.
        home: whose state it works on.
        more: further variables for it.

    Raises:
        OSError: it could not be started.

    """
    environment = {name: os.environ[name] for name in ENVIRONMENT_NAMES if name in os.environ}
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, **(more or {}), HOME_VARIABLE: str(home)},
    )
    try:
        _, errors = await child.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        raise
    return child.returncode or 0, errors.decode("utf-8", "replace").strip()[-ERROR_CHARACTERS_KEPT:]
