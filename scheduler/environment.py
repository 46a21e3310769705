"""
What the environment may say, and may not: it moves agents' folders, but names no module of a library.

`shield` runs before the event library is imported, which reads one of these names at import.
"""

from __future__ import annotations

import os

FORBIDDEN_VARIABLES = (
    "APPLICATION_RECORDER_TOPIC",
    "CIPHER_TOPIC",
    "COMPRESSOR_TOPIC",
    "MAPPER_TOPIC",
    "PERSISTENCE_MODULE",
    "TRANSCODER_TOPIC",
    "TZINFO_TOPIC",
)
"""Variables by which `eventsourcing` imports a module of that name."""

PLACES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "PI_CODING_AGENT_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
"""Variables that move an agent's own folder, as its newest session start told them."""


def shield() -> None:
    """Remove them: an agent's repository may have set them."""
    for name in FORBIDDEN_VARIABLES:
        os.environ.pop(name, None)
