"""
Codex: capabilities switched off in the checkout's `.codex/config.toml` (0.171.0 and 0.164.0).

Codex stops on a file that is not as it expects, also on a project's, so whatever it stops on is left alone.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from tokeneconomizer.domain.deny_list import DenyTarget, SwitchedOff, member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokeneconomizer.domain.deny_list import Circumstances, Denial, Document

SWITCHES: dict[str, tuple[str, ...]] = {
    "goals": ("features", "goals"),
    "image_media": ("features", "view_image"),
    "collaboration": ("agents", "enabled"),
}

COLLABORATION_FORCED = ("features", "multi_agent_v2")
"""Where the user turned it on, `agents.enabled = false` does not win."""

MARK = "# tokeneconomizer:"


def denials(document: Document, names: Sequence[str], _circumstances: Circumstances) -> list[Denial]:
    """Return the switches to be added; what the user set stays."""
    forced = member(document, COLLABORATION_FORCED)
    is_forced = forced is True or member(forced, ("enabled",)) is True
    return [
        SwitchedOff(name, SWITCHES[name])
        for name in names
        if member(document, SWITCHES[name]) is None and not (name == "collaboration" and is_forced)
    ]


def problem(document: Document) -> str:
    """Return why Codex would stop on this value, as far as it concerns us; else nothing."""
    features, agents = document.get("features", {}), document.get("agents", {})
    if not isinstance(features, dict):
        return "`features` is no table"
    for name, value in features.items():
        if not isinstance(value, bool | dict) or (isinstance(value, dict) and name != "multi_agent_v2"):
            return f"`features.{name}` is no boolean"
    if not isinstance(agents, dict):
        return "`agents` is no table"
    if not isinstance(agents.get("enabled", False), bool):
        return "`agents.enabled` is no boolean"
    return ""


def mark(path: tuple[str, ...]) -> str:
    """Return the comment that tells a line as ours."""
    name = next((name for name, switch in SWITCHES.items() if switch == path), "")
    return f"{MARK}{name}" if name else ""


def read_config(user_config: bytes) -> Document:
    """Return the user's configuration; an empty one where Codex could not read it either."""
    try:
        return tomllib.loads(user_config.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}


CAPABILITY_OF = {
    **dict.fromkeys(("create_goal", "get_goal", "update_goal"), "goals"),
    "view_image": "image_media",
    **dict.fromkeys(
        (
            *("close_agent", "followup_task", "interrupt_agent", "list_agents", "resume_agent"),
            *("send_input", "send_message", "spawn_agent", "wait_agent"),
        ),
        "collaboration",
    ),
}

ASSUMED = {"goals": 3_038, "image_media": 372}
"""
Characters that a capability takes with every model that was measured, the smallest figure (0.171.0).

Collaboration takes between 0 and 6,493 of them, so nothing is assumed of it.
"""


def unit_of(tool: str, server: str) -> str:
    """Return the capability of a built-in tool; hooks put the namespace before the name."""
    return "" if server else CAPABILITY_OF.get(tool.removeprefix("collaboration"), "")


TARGET = DenyTarget(
    ".codex/config.toml", denials, frozenset(SWITCHES), problem, mark, unit_of=unit_of, assumed=ASSUMED
)
