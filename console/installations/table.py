"""The agents that this program installs into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.console.installations.claude_code import ClaudeCode
from tokeneconomizer.console.installations.codex import Codex
from tokeneconomizer.console.installations.copilot import Copilot
from tokeneconomizer.console.installations.opencode import OpenCode
from tokeneconomizer.console.installations.pi import Pi

if TYPE_CHECKING:
    from tokeneconomizer.console.installations.shape import Installation

INSTALLATIONS: dict[str, type[Installation]] = {
    ClaudeCode.NAME: ClaudeCode,
    Codex.NAME: Codex,
    Copilot.NAME: Copilot,
    Pi.NAME: Pi,
    OpenCode.NAME: OpenCode,
}
"""By name, in the order in which they are told."""
