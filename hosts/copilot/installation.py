"""Where Copilot CLI keeps its files, and the version that was measured."""

from __future__ import annotations

import re

from tokeneconomizer.hosts.copilot.log import FOLDER_VARIABLE
from tokeneconomizer.hosts.copilot.trust import CONFIG_NAME

__all__ = [
    "BINARY",
    "CONFIG_FOLDER",
    "CONFIG_NAME",
    "FOLDER_VARIABLE",
    "HOOKS_FOLDER",
    "MEASURED",
    "REPOSITORY_HOOKS_FOLDER",
    "SETTINGS_FILE",
    "SWITCHES",
    "was_measured",
]

BINARY = "copilot"

CONFIG_FOLDER = ".copilot"

SETTINGS_FILE = "settings.json"

HOOKS_FOLDER = "hooks"
REPOSITORY_HOOKS_FOLDER = ".github/hooks"

MEASURED = (1, 0, 102)
"""What is said of its hooks was seen on this version; 1.0 changes them often."""

SWITCHES = (
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
)
"""Files of a checkout in which `disableAllHooks` stops all hooks, and hooks run beside those of plugins."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def was_measured(version: str) -> bool:
    """Return whether a `copilot --version` line names the version that was measured, or tells none."""
    found = _VERSION.search(version)
    return found is None or tuple(int(part) for part in found.groups()) == MEASURED
