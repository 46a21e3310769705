"""Where opencode keeps its files, and what our registration there is (measured on 1.18.33)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BINARY = "opencode"

CONFIG_VARIABLE = "XDG_CONFIG_HOME"
DATA_VARIABLE = "XDG_DATA_HOME"

CONFIG_NAME, CONFIG_NAME_WITH_COMMENTS = "opencode.json", "opencode.jsonc"
"""Both are read, and may have comments; where both have a list of plugins, that of the second counts."""

PLUGINS = ("plugin",)
"""The list of what is loaded; a `file://` entry has no package installed in the user's project."""

SCHEMA = (("$schema",), "https://opencode.ai/config.json")
"""opencode adds it by itself to a file that lacks it."""

PLUGIN_PACKAGE = "node_modules/@opencode-ai/plugin"
"""Installed by opencode before it loads plugins; without npm's registry each start waits a minute for it."""

MEASURED = Measured((1, 18, 33), (1,))
"""Plugins of 2.x are of another shape; ours follows what was published of it, and never ran there."""


def config_root(agents_home: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder in which programs have their configurations."""
    named = environment.get(CONFIG_VARIABLE, "")
    return agents_home.joinpath(named) if named else agents_home / ".config"


def log_file(agents_home: Path, environment: Mapping[str, str]) -> Path:
    """Return the file in which opencode notes what went wrong at its start."""
    named = environment.get(DATA_VARIABLE, "")
    data = agents_home.joinpath(named) if named else agents_home / ".local" / "share"
    return data / "opencode" / "log" / "opencode.log"
