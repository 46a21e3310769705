"""
The plugin that Codex loads: a local marketplace in our home with one plugin in it, and Codex's own copy.

Rendered as values: relative path -> text. The bytes depend on the hook's command line alone, so that an
upgrade of the program leaves them as they are: Codex runs no hook of a plugin whose files differ from those
that the user approved, so nothing is ever written in its copy either (0.171.0 and 0.164.0).
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex.payload import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKETPLACE = "tokeneconomizer"
PLUGIN = "tokeneconomizer"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"

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

DATA_FOLDER = f"plugins/data/{PLUGIN}-{MARKETPLACE}"
"""Codex makes it when a hook of the plugin runs, and leaves it empty."""

_DESCRIPTION = "Keeps sessions out of circles and remembers what they found out."

_SKILLS: Mapping[str, tuple[str, str]] = {
    "status": ("Show what tokeneconomizer recorded, redirected and hinted", "{te} status"),
    "config": (
        "Show or change tokeneconomizer's settings: list, get KEY, set KEY VALUE",
        "{te} config <words>",
    ),
    "facts": ("Show or change what tokeneconomizer learnt of this repository", "{te} facts <words>"),
    "prune": (
        "Show, approve or restore the tools that tokeneconomizer would deny here",
        "{te} prune <words>",
    ),
}
"""Name -> what it is for, and the command that it runs; they are asked for as `$tokeneconomizer:name`."""

_SKILL = """\
---
name: {name}
description: {description}
---

Run this command, with the words that the user wrote after the skill's name in place of <words> (none if there
are none), and show its output unchanged, without comment:

    {command}
"""

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
        ".codex-plugin/plugin.json": _json(
            {"name": PLUGIN, "version": PLUGIN_FORMAT, "description": _DESCRIPTION}
        ),
        HOOKS_FILE: _json({"hooks": {event: [_registration(hook, event)] for event in EVENTS}}),
    }
    for name, (description, command) in _SKILLS.items():
        text = _SKILL.format(name=name, description=description, command=command.format(te=shlex.join(te)))
        files[f"skills/{name}/SKILL.md"] = text
        files[f"skills/{name}/agents/openai.yaml"] = _ONLY_WHEN_ASKED
    return files


def marketplace_files(plugin: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the marketplace's folder, with the plugin's in it."""
    listed = {"name": PLUGIN, "source": f"./{PLUGIN}", "description": _DESCRIPTION}
    marketplace = {"name": MARKETPLACE, "owner": {"name": MARKETPLACE}, "plugins": [listed]}
    return {
        ".agents/plugins/marketplace.json": _json(marketplace),
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


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
