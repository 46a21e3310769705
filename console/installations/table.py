"""The agents that this program installs into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.console.installations.claude_code import ClaudeCode

if TYPE_CHECKING:
    from tokeneconomizer.console.installations.shape import Installation

INSTALLATIONS: dict[str, type[Installation]] = {ClaudeCode.NAME: ClaudeCode}
"""By name, in the order in which they are told."""
