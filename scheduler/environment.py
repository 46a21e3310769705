"""
What the process environment may not do: name modules that libraries then import, or reconfigure the store.

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


def shield() -> None:
    """Remove them: an agent's repository may have set them."""
    for name in FORBIDDEN_VARIABLES:
        os.environ.pop(name, None)
