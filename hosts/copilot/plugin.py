"""
The plugin folder that Copilot CLI loads from our home: a local marketplace with one plugin in it.

Rendered as values: relative path -> text. Copilot loads it live from the folder and copies nothing (1.0.102).
`preToolUse` is never registered: a hook there that fails denies the call.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.marketplace import DESCRIPTION, MARKETPLACE, PLUGIN, json_text, marketplace_text
from tokeneconomizer.hosts.recognise import COPILOT
from tokeneconomizer.hosts.skills import skill_files

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    manifest = {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": DESCRIPTION, "hooks": HOOKS_FILE}
    return {
        ".github/plugin/marketplace.json": marketplace_text(),
        f"{PLUGIN}/.github/plugin/plugin.json": json_text(manifest),
        f"{PLUGIN}/{HOOKS_FILE}": json_text(
            {"version": 1, "hooks": {event: [_registration(hook, event)] for event in EVENTS}}
        ),
        **{f"{PLUGIN}/{name}": text for name, text in skill_files(shlex.join(te)).items()},
    }


def _registration(hook: Sequence[str], event: str) -> dict[str, object]:
    return {"type": "command", "bash": hook_command(hook, event), "timeoutSec": HOOK_TIMEOUT_S}


EMPTY_FOLDERS = (f"plugin-data/{MARKETPLACE}/{PLUGIN}", f"plugin-data/{MARKETPLACE}", "plugin-data")
"""Folders that Copilot makes for the plugin and leaves empty, the innermost first."""

DIRECT_INSTALLS = ("installedPlugins",)
"""The member of config.json that lists plugins which were copied; a copy of ours runs each hook once more."""

INSTALLED_FOLDER = "installed-plugins"
