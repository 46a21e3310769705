"""
The plugin folder that Claude Code loads from our home: a local marketplace with one plugin in it.

Rendered as values: relative path -> text. The bytes depend on the hook's command line alone, so that an
upgrade of the program leaves the files as they are.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.payload import NAME
from tokeneconomizer.hosts.marketplace import (
    DESCRIPTION,
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    json_text,
    marketplace_text,
)
from tokeneconomizer.hosts.skills import skill_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLUGIN_FORMAT = "1.0.0"
"""Raised when these files change their meaning; the program's own version is not in them."""

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolBatch",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PostCompact",
    "SessionEnd",
)
"""The fewest that tell everything: a step of successful calls costs one process, a failed call one more."""

HOOK_TIMEOUT_S = 5
"""The hook client gives up after a second by itself; this is for a machine that cannot even start it."""

OUTLIVE_THE_AGENT = "trap '' HUP INT TERM; exec "
"""Claude Code ends the hook of a failed turn after 20 ms, when its interpreter has hardly started."""


def hook_command(hook: Sequence[str], event: str) -> str:
    """Return the shell line of one registration; `hook` is the interpreter, its flags and the launcher."""
    words = [*hook, "--host", NAME, "--event", event, "--via", "plugin"]
    return OUTLIVE_THE_AGENT + shlex.join(words)


def plugin_files(hook: Sequence[str], te: Sequence[str]) -> dict[str, str]:
    """
    Return the files of the marketplace folder.

    Args:
        hook: interpreter, flags and launcher of the hook client, absolute.
        te: the command line's own command, absolute.

    """
    manifest = {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": DESCRIPTION}
    return {
        ".claude-plugin/marketplace.json": marketplace_text(),
        f"{PLUGIN}/.claude-plugin/plugin.json": json_text(manifest),
        f"{PLUGIN}/hooks/hooks.json": json_text(
            {"hooks": {event: [_registration(hook, event)] for event in EVENTS}}
        ),
        **{f"{PLUGIN}/{name}": text for name, text in skill_files(shlex.join(te)).items()},
    }


def _registration(hook: Sequence[str], event: str) -> Mapping[str, object]:
    command = {"type": "command", "command": hook_command(hook, event), "timeout": HOOK_TIMEOUT_S}
    return {"hooks": [command]}


MENTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("plugins/known_marketplaces.json", (MARKETPLACE,)),
    ("plugins/installed_plugins.json", ("plugins", PLUGIN_ID)),
    (".claude.json", ("pluginUsage", PLUGIN_ID)),
)
"""Where Claude Code writes our name by itself when it runs: (file, member); `.claude.json` may lie beside."""

EMPTY_FOLDERS = (f"plugins/data/{PLUGIN}-{MARKETPLACE}",)
"""Folders that it makes for the plugin and leaves empty."""
