"""
The agents whose logs are read, by name.

What decodes lines is imported by `read`, not before: most scans find nothing new, and end in less time than
those imports take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.claude_code import log as claude_code
from tokeneconomizer.hosts.codex import log as codex
from tokeneconomizer.hosts.copilot import log as copilot
from tokeneconomizer.hosts.opencode import log as opencode
from tokeneconomizer.hosts.pi import log as pi

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokeneconomizer.hosts.log_format import AgentHomes, LogFile, LogFormat

LOGS: dict[str, LogFormat] = {
    claude_code.NAME: claude_code,
    codex.NAME: codex,
    copilot.NAME: copilot,
    pi.NAME: pi,
    opencode.NAME: opencode,
}

READING_VERSION = 1
"""Raised whenever a reader comes to other tokens for the same bytes."""


def find(homes: AgentHomes, hosts: Iterable[str]) -> list[LogFile]:
    """Return the log files of these agents."""
    return [file for host in hosts for file in LOGS[host].files(homes)]
