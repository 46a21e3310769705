"""The one file that opencode loads from our home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.bridge.rendering import Installation, render
from tokeneconomizer.hosts.recognise import OPENCODE

if TYPE_CHECKING:
    from collections.abc import Sequence

PLUGIN_NAME = "tokeneconomizer.ts"

ENTRY_END = f"/plugins/{OPENCODE}/{PLUGIN_NAME}"
"""How each entry of ours in opencode's list ends, whichever home it leads to."""


def plugin_files(home: str, daemon: Sequence[str]) -> dict[str, str]:
    """Return the file: name -> text."""
    rendered = render("opencode/plugin.ts", Installation(OPENCODE, "plugin", home, daemon))
    return {PLUGIN_NAME: rendered.decode()}
