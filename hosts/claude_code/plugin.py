"""
The plugin folder that Claude Code loads from our home: a local marketplace with one plugin in it.

Rendered as values: relative path -> text. The bytes depend on the hook's command line alone, so that an
upgrade of the program leaves the files as they are.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code.payload import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKETPLACE = "tokeneconomizer"
PLUGIN = "tokeneconomizer"

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

_STATUS_SKILL = """\
---
name: status
description: Show what tokeneconomizer has recorded, redirected and hinted
disable-model-invocation: true
---

Run this command and show its output unchanged, without comment:

    {te} status
"""

_CONFIG_SKILL = """\
---
name: config
description: Show or change the settings of tokeneconomizer
argument-hint: "[list | get KEY | set KEY VALUE]"
disable-model-invocation: true
---

The user asks for: $ARGUMENTS

Without arguments run the first command; otherwise pass the arguments on to the second one. Show the output
unchanged, without comment:

    {te} config list
    {te} config <arguments>
"""


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
    te_line = shlex.join(te)
    root = PLUGIN
    return {
        ".claude-plugin/marketplace.json": _json(
            {
                "name": MARKETPLACE,
                "owner": {"name": MARKETPLACE},
                "plugins": [{"name": PLUGIN, "source": f"./{root}", "description": _DESCRIPTION}],
            }
        ),
        f"{root}/.claude-plugin/plugin.json": _json(
            {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": _DESCRIPTION}
        ),
        f"{root}/hooks/hooks.json": _json(
            {"hooks": {event: [_registration(hook, event)] for event in EVENTS}}
        ),
        f"{root}/skills/status/SKILL.md": _STATUS_SKILL.format(te=te_line),
        f"{root}/skills/config/SKILL.md": _CONFIG_SKILL.format(te=te_line),
    }


_DESCRIPTION = "Keeps sessions out of circles and remembers what they found out."


def settings_members(marketplace_folder: str) -> tuple[tuple[tuple[str, ...], object], ...]:
    """Return the members that register the plugin in the user's settings.json: (path, value)."""
    return (
        (
            ("extraKnownMarketplaces", MARKETPLACE),
            {"source": {"source": "directory", "path": marketplace_folder}},
        ),
        (("enabledPlugins", f"{PLUGIN}@{MARKETPLACE}"), True),
    )


def _registration(hook: Sequence[str], event: str) -> Mapping[str, object]:
    command = {"type": "command", "command": hook_command(hook, event), "timeout": HOOK_TIMEOUT_S}
    return {"hooks": [command]}


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


MENTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("plugins/known_marketplaces.json", (MARKETPLACE,)),
    ("plugins/installed_plugins.json", ("plugins", f"{PLUGIN}@{MARKETPLACE}")),
    (".claude.json", ("pluginUsage", f"{PLUGIN}@{MARKETPLACE}")),
)
"""Where Claude Code writes our name by itself when it runs: (file, member); `.claude.json` may lie beside."""

EMPTY_FOLDERS = (f"plugins/data/{PLUGIN}-{MARKETPLACE}",)
"""Folders that it makes for the plugin and leaves empty."""
