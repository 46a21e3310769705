"""
A session's history from before it was watched, read from the agent's own log: a stream of its own.

Its events are those of a session, at their original times.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import uuid5

from tokeneconomizer.domain.session import NAMESPACE, STREAM_IDS_KEPT, Session
from tokeneconomizer.domain.stream_ids import imported

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from tokeneconomizer.domain.commands import SessionKey

IMPORT_VERSION = 2
"""Raised whenever the same log comes to other events: what an older version imported is then let be."""

SOURCE = f"import/{IMPORT_VERSION}"
"""The source of an imported session's first event."""


@lru_cache(maxsize=STREAM_IDS_KEPT)
def stream_id_of(key: SessionKey) -> UUID:
    """Return the id of the stream that holds a session's imported history."""
    return imported(uuid5(NAMESPACE, f"import\n{key.host}\n{key.session_id}\n{key.agent_id}"))


def start(key: SessionKey, timestamp: datetime, **fields: Any) -> Session:
    """Begin such a stream with its first event; fields as in SessionStarted."""
    return Session.start(key, timestamp, stream_id=stream_id_of(key), source=SOURCE, **fields)
