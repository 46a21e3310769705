"""What our plugins for Claude Code, Codex and Copilot CLI share: names, and the parts of their files."""

from __future__ import annotations

import json

MARKETPLACE = "tokeneconomizer"
PLUGIN = "tokeneconomizer"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"

DESCRIPTION = "Keeps sessions out of circles and remembers what they found out."

ENABLED = ("enabledPlugins", PLUGIN_ID)
"""The member of a settings.json that turns the plugin on or off."""


def marketplace_text() -> str:
    """Return the file that names the marketplace's one plugin."""
    listed = {"name": PLUGIN, "source": f"./{PLUGIN}", "description": DESCRIPTION}
    return json_text({"name": MARKETPLACE, "owner": {"name": MARKETPLACE}, "plugins": [listed]})


def settings_members(marketplace_folder: str) -> tuple[tuple[tuple[str, ...], object], ...]:
    """Return the members that register the plugin in a user's settings.json: (path, value)."""
    source = {"source": {"source": "directory", "path": marketplace_folder}}
    return (("extraKnownMarketplaces", MARKETPLACE), source), (ENABLED, True)


def json_text(value: object) -> str:
    """Return a value as the text of a file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
