"""
The plugin that Codex loads: a local marketplace in our home with one plugin in it, and Codex's own copy.

Rendered as values: relative path -> text. The bytes depend on the hook's command line alone, so that an
upgrade of the program leaves them as they are: Codex runs no hook of a plugin whose files differ from those
that the user approved, so nothing is ever written in its copy either (0.171.0 and 0.164.0).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex.payload import NAME
from tokeneconomizer.hosts.marketplace import (
    DESCRIPTION,
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    json_text,
    marketplace_text,
)
from tokeneconomizer.hosts.skills import SKILLS, body_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLUGIN_FORMAT = "1.0.0"
"""Raised when these files change their meaning; the program's own version is not in them."""

EVENTS: Mapping[str, str] = {
    "SessionStart": "",
    "UserPromptSubmit": "",
    "PreToolUse": "^[^B]",
    "PostToolUse": "",
    "Stop": "",
    "SubagentStart": "",
    "SubagentStop": "",
    "PostCompact": "",
    "SessionEnd": "",
}
"""
Event -> which tools it is for, all where it is empty: the fewest that tell everything.

PostToolUse tells each shell call (`Bash`), and other calls only when they succeeded; it alone reaches the
very next request. PreToolUse is there for a redirect after a call that failed without it. Before a shell call
it would bring nothing that the same call's PostToolUse does not bring to the same request.
"""

HOOK_TIMEOUT_S = 3
"""
The hook client gives up after a second by itself; this is for a machine that cannot even start it. Of a
longer one for SessionEnd Codex warns its user.
"""

HOOKS_FILE = "hooks/hooks.json"

COPY_FOLDER = f"plugins/cache/{MARKETPLACE}"
COPY = f"{COPY_FOLDER}/{PLUGIN}/{PLUGIN_FORMAT}"
"""Where `codex plugin add` puts its copy, below Codex's own folder."""

EMPTY_FOLDERS = (f"plugins/data/{PLUGIN}-{MARKETPLACE}", "plugins/data", "plugins/cache", "plugins")
"""Folders that Codex makes for the plugin, and leaves empty; the innermost first."""

_SKILL_HEAD = """\
---
name: {name}
description: {description}
---
"""

_ARGUMENTS = "The arguments are the words that the user wrote after the skill's name."
"""Codex has no variable for them; a skill is asked for as `$tokeneconomizer:name`."""

_ONLY_WHEN_ASKED = "policy:\n  allow_implicit_invocation: false\n"
"""Keeps a skill out of the list that every session's first request has."""


def hook_command(hook: Sequence[str], event: str) -> str:
    """Return the shell line of one registration; `hook` is the interpreter, its flags and the launcher."""
    return "exec " + shlex.join([*hook, "--host", NAME, "--event", event, "--via", "plugin"])


def plugin_files(hook: Sequence[str], te: Sequence[str]) -> dict[str, str]:
    """
    Return the files of the plugin's own folder.

    Args:
        hook: interpreter, flags and launcher of the hook client, absolute.
        te: the command line's own command, absolute.

    """
    files = {
        ".codex-plugin/plugin.json": json_text(
            {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": DESCRIPTION}
        ),
        HOOKS_FILE: json_text({"hooks": {event: [_registration(hook, event)] for event in EVENTS}}),
    }
    for skill in SKILLS:
        head = _SKILL_HEAD.format(name=skill.name, description=skill.description)
        files[f"skills/{skill.name}/SKILL.md"] = head + body_of(skill, shlex.join(te), _ARGUMENTS)
        files[f"skills/{skill.name}/agents/openai.yaml"] = _ONLY_WHEN_ASKED
    return files


def marketplace_files(plugin: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the marketplace's folder, with the plugin's in it."""
    return {
        ".agents/plugins/marketplace.json": marketplace_text(),
        **{f"{PLUGIN}/{name}": text for name, text in plugin.items()},
    }


def config_tables(marketplace_folder: str) -> dict[tuple[str, str], dict[str, str | bool]]:
    """Return the tables that register the plugin in the user's `config.toml`, as `codex plugin add` does."""
    return {
        ("marketplaces", MARKETPLACE): {"source_type": "local", "source": marketplace_folder},
        ("plugins", PLUGIN_ID): {"enabled": True},
    }


def hook_keys() -> list[str]:
    """Return the keys in `hooks.state` under which Codex notes that our hooks were approved."""
    return [f"{PLUGIN_ID}:{HOOKS_FILE}:{_snake_case(event)}:0:0" for event in EVENTS]


def _registration(hook: Sequence[str], event: str) -> dict[str, object]:
    command = {"type": "command", "command": hook_command(hook, event), "timeout": HOOK_TIMEOUT_S}
    matcher = EVENTS[event]
    return {**({"matcher": matcher} if matcher else {}), "hooks": [command]}


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
