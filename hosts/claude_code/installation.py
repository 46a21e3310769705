"""Where Claude Code keeps its files, and what it must be for our hooks to see everything."""

from __future__ import annotations

import re

BINARY = "claude"

CONFIG_FOLDER = ".claude"
CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"

SETTINGS_FILE = "settings.json"

OLDEST_MEASURED = (2, 1, 310)
"""The oldest version on which PostToolBatch, which the loop guard rests on, was seen."""

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


def is_older_than_measured(version: str) -> bool:
    """Return whether a `claude --version` line names a version older than those measured."""
    found = _VERSION.search(version)
    return found is not None and tuple(int(part) for part in found.groups()) < OLDEST_MEASURED
