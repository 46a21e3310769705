"""What an installation is told: the command lines of the hook client and of `te`, and whose home it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tokeneconomizer.hosts import hook as hook_client


def hook_words() -> list[str]:
    """Return interpreter, flags and launcher of the hook client, absolute."""
    launcher = Path(hook_client.__file__).with_name("launcher.py")
    # Not resolved: in a virtual environment the link is what makes the interpreter find its packages.
    return [sys.executable, "-I", "-S", str(launcher)]


def daemon_words() -> list[str]:
    """Return the command that starts a daemon, for a bridge."""
    return [sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon"]


def te_words() -> list[str]:
    """Return the command that runs `te` with this interpreter, wherever it is called from."""
    return [sys.executable, "-I", "-m", "tokeneconomizer.console.main"]


def agents_home_from(option: Path | None) -> Path:
    """Return where agents' own files are looked for."""
    return (option or Path(os.environ.get("HOME") or Path.home())).absolute()
