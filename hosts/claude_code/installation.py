"""Where Claude Code keeps its files, and what it must be for our hooks to see everything."""

from __future__ import annotations

from tokeneconomizer.hosts.measured import Measured

BINARY = "claude"

CONFIG_FOLDER = ".claude"
CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"

SETTINGS_FILE = "settings.json"

CHECKOUT_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")
"""Settings of a checkout go before the user's own."""

MEASURED = Measured((2, 1, 310), lost="without its PostToolBatch hook nothing is redirected")
