"""Where Copilot CLI keeps its files, and the version that was measured."""

from __future__ import annotations

from tokeneconomizer.hosts.copilot.log import FOLDER_VARIABLE
from tokeneconomizer.hosts.copilot.trust import CONFIG_NAME
from tokeneconomizer.hosts.measured import Measured

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
]

BINARY = "copilot"

CONFIG_FOLDER = ".copilot"

SETTINGS_FILE = "settings.json"

HOOKS_FOLDER = "hooks"
REPOSITORY_HOOKS_FOLDER = ".github/hooks"

MEASURED = Measured((1, 0, 102), (1, 0, 102))
"""What is said of its hooks was seen on this version; 1.0 changes them often."""

SWITCHES = (
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
)
"""Files of a checkout in which `disableAllHooks` stops all hooks, and hooks run beside those of plugins."""
