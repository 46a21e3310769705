"""
The plugin folder that Copilot CLI loads from our home: a local marketplace with one plugin in it.

Rendered as values: relative path -> text. Copilot loads it live from the folder and copies nothing (1.0.102).
`preToolUse` is never registered: a hook there that fails denies the call.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.hosts.skills import skill_files

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKETPLACE = "tokeneconomizer"
PLUGIN = "tokeneconomizer"

PLUGIN_FORMAT = "1.0.0"
"""Raised when these files change their meaning; the program's own version is not in them."""

EVENTS = (
    "sessionStart",
    "userPromptSubmitted",
    "postToolUse",
    "postToolUseFailure",
    "agentStop",
    "subagentStart",
    "subagentStop",
    "sessionEnd",
)
"""The fewest that tell everything."""

HOOK_TIMEOUT_S = 5
"""The hook client gives up after a second by itself; this is for a machine that cannot even start it."""

HOOKS_FILE = "hooks/copilot.json"
"""Named in the manifest: `hooks/hooks.json` would be another agent's file."""

_DESCRIPTION = "Keeps sessions out of circles and remembers what they found out."


def hook_command(hook: Sequence[str], event: str) -> str:
    """Return the shell line of one registration; `hook` is the interpreter, its flags and the launcher."""
    return "exec " + shlex.join([*hook, "--host", COPILOT, "--event", event, "--via", "plugin"])


def plugin_files(hook: Sequence[str], te: Sequence[str]) -> dict[str, str]:
    """
    Return the files of the marketplace folder.

    Args:
        hook: interpreter, flags and launcher of the hook client, absolute.
        te: the command line's own command, absolute.

    """
    manifest = {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": _DESCRIPTION, "hooks": HOOKS_FILE}
    return {
        ".github/plugin/marketplace.json": _json(
            {
                "name": MARKETPLACE,
                "owner": {"name": MARKETPLACE},
                "plugins": [{"name": PLUGIN, "source": f"./{PLUGIN}", "description": _DESCRIPTION}],
            }
        ),
        f"{PLUGIN}/.github/plugin/plugin.json": _json(manifest),
        f"{PLUGIN}/{HOOKS_FILE}": _json(
            {"version": 1, "hooks": {event: [_registration(hook, event)] for event in EVENTS}}
        ),
        **{f"{PLUGIN}/{name}": text for name, text in skill_files(shlex.join(te)).items()},
    }


def settings_members(marketplace_folder: str) -> tuple[tuple[tuple[str, ...], object], ...]:
    """Return the members that register the plugin in the user's settings.json: (path, value)."""
    return (
        (
            ("extraKnownMarketplaces", MARKETPLACE),
            {"source": {"source": "directory", "path": marketplace_folder}},
        ),
        (("enabledPlugins", f"{PLUGIN}@{MARKETPLACE}"), True),
    )


def _registration(hook: Sequence[str], event: str) -> dict[str, object]:
    return {"type": "command", "bash": hook_command(hook, event), "timeoutSec": HOOK_TIMEOUT_S}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


EMPTY_FOLDERS = (f"plugin-data/{MARKETPLACE}/{PLUGIN}", f"plugin-data/{MARKETPLACE}", "plugin-data")
"""Folders that Copilot makes for the plugin and leaves empty, the innermost first."""

DIRECT_INSTALLS = ("installedPlugins",)
"""The member of config.json that lists plugins which were copied; a copy of ours runs each hook once more."""

INSTALLED_FOLDER = "installed-plugins"
