"""Whether Codex runs our hooks: what `te status` and `te doctor` say of it, and what the user does then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.codex import plugin
from tokeneconomizer.hosts.codex.trust import hooks_are_approved, trust_file
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.recognise import CODEX
from tokeneconomizer.scheduler.foreign_files import beginning_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

APPROVAL = "start `codex` in a terminal and choose “Trust all and continue”, or approve them by `/hooks`"
"""What Codex offers at its start while there are hooks that are new or changed (0.171.0)."""

NOT_TRUSTED = "hooks not trusted: nothing is recorded"

CONFIG_BYTES_MAX = 5_000_000
"""A configuration is some kilobytes."""


def untrusted_hooks(user_config: bytes) -> str:
    """Return that our hooks are not trusted; empty where they are."""
    return "" if hooks_are_approved(user_config, plugin.hook_keys()) else NOT_TRUSTED


def codex_trouble(home: Home, agents_home: Path, environment: Mapping[str, str]) -> str:
    """Return why nothing is heard of a Codex that we are installed into, with what to do; else nothing."""
    if not (home.plugins / CODEX).is_dir():
        return ""
    config = trust_file(AgentHomes(agents_home, environment))
    words = untrusted_hooks(beginning_of(config, CONFIG_BYTES_MAX))
    return f"Codex: {words}; {APPROVAL}" if words else ""
