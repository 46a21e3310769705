"""Our plugin speaks the bridge's words; what of them the user sees."""

from __future__ import annotations


def hides_hints(_transcript_tail: bytes) -> bool:
    """Return False: opencode shows them in its window; `opencode run` has none, and no log tells of it."""
    return False
