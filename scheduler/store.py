"""
The event store: `eventsourcing` on the tables of `recorders`, with what we measured to be needed.

- The process environment configures nothing: an agent's repository may set it.
- Events are flat, so that orjson writes them as they are.
- Saving asks no type questions at run time: the library's take a fifth of a save.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import orjson
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate
from eventsourcing.persistence import Mapper, OperationalError, PersistenceError, Transcoder
from eventsourcing.utils import Environment

from tokeneconomizer.domain.errors import StoreDamaged, StoreTooNew
from tokeneconomizer.domain.session_snapshot import STATE_VERSION
from tokeneconomizer.scheduler.recorders import (
    EVENTS_TABLE,
    LOCK_TIMEOUT_S,
    ChainedRecorder,
    RecorderFactory,
    chain_link,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eventsourcing.domain import DomainEventProtocol
    from eventsourcing.persistence import InfrastructureFactory, Recording, StoredEvent

__all__ = ["APPLICATION_ID", "STORE_SCHEMA", "ChainedRecorder", "EventStore", "chain_link"]

STORE_SCHEMA = 3
"""Raised with every new event class, class version or table; an older program refuses a newer store."""

APPLICATION_ID = 0x746B6563
"""`tkec`: SQLite's mark of whose file this is."""

SESSIONS_CACHED = 256
"""About 30 KB each: under 8 MB, for more sessions than a person has open."""


class OrjsonTranscoder(Transcoder):
    """Flat events need no transcodings: orjson writes them as they are."""

    def encode(self, obj: Any) -> bytes:
        """Return the JSON of an event's state."""
        return orjson.dumps(obj)

    def decode(self, data: bytes) -> Any:
        """Return an event's state."""
        return orjson.loads(data)


class FlatMapper(Mapper[UUID]):
    """Gives an event its time back, which JSON holds as text."""

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """Return the event that was stored."""
        event = super().to_domain_event(stored_event)
        state = vars(event)
        state["timestamp"] = datetime.fromisoformat(state["timestamp"])
        return event


class EventStore(Application[UUID]):
    """
    Streams of events in one SQLite file.

    Args:
        path: the file; created with mode 0600 when absent.
        key: the home's secret, for the chain.

    Raises:
        StoreTooNew: the file was written by a newer program.
        StoreDamaged: SQLite cannot open or read it.

    """

    name = "tokeneconomizer"
    is_snapshotting_enabled = True

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._key = key
        umask = os.umask(0o077)
        try:
            _prepare(path)
            super().__init__()
        except (sqlite3.OperationalError, OperationalError) as error:
            raise StoreDamaged(_not_opened(path, error)) from error
        except (sqlite3.DatabaseError, PersistenceError) as error:
            raise StoreDamaged(_damaged(path, error)) from error
        finally:
            os.umask(umask)

    def construct_env(self, name: str, env: Any = None) -> Environment:  # noqa: ARG002 - the library's signature
        """Return a fixed configuration, whatever the process environment says."""
        return Environment(
            name,
            {
                "IS_SNAPSHOTTING_ENABLED": "y",
                "SQLITE_DBNAME": ":memory:",
                "AGGREGATE_CACHE_MAXSIZE": str(SESSIONS_CACHED),
                "AGGREGATE_CACHE_FASTFORWARD": "n",
                "DEEPCOPY_FROM_AGGREGATE_CACHE": "n",
            },
        )

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """Return the factory of our recorders."""
        return RecorderFactory(env, self._path, self._key, STATE_VERSION)

    def construct_transcoder(self) -> Transcoder:
        """Return the transcoder of flat events."""
        return OrjsonTranscoder()

    def construct_mapper(self) -> Mapper[UUID]:
        """Return the mapper of flat events."""
        return FlatMapper(self.construct_transcoder())

    def save(self, *objs: Any, **kwargs: Any) -> list[Recording[UUID]]:
        """
        Save the new events of aggregates, all of them or none.

        Returns:
            nothing for aggregates: the library's recordings are for followers, and nobody follows.

        """
        if not all(isinstance(obj, Aggregate) for obj in objs):
            return super().save(*objs, **kwargs)
        events = [event for aggregate in objs for event in aggregate.collect_events()]
        self.recorder.insert_events(list(map(self.mapper.to_stored_event, events)), **kwargs)
        if self.repository.cache is not None:
            for aggregate in objs:
                self.repository.cache.put(aggregate.id, aggregate)
        return []

    def load(self, stream_id: UUID) -> Aggregate:
        """
        Return a stream's aggregate; a snapshot that cannot be read is passed over, for the events tell all.

        Raises:
            AggregateNotFoundError: there is no such stream.
            PersistenceError: the file fails.

        """
        try:
            found: Aggregate = self.repository.get(stream_id)
        except (AggregateNotFoundError, PersistenceError, sqlite3.Error):
            raise
        except Exception:  # noqa: BLE001 - whatever is wrong with an event comes to light again
            found = self._replayed(stream_id)
            if self.repository.cache is not None:
                self.repository.cache.put(stream_id, found)
        return found

    def _replayed(self, stream_id: UUID) -> Aggregate:
        found: Any = None
        for event in self.events.get(stream_id):
            found = cast("Any", event).mutate(found)
        if found is None:
            raise AggregateNotFoundError(stream_id)
        return cast("Aggregate", found)

    def append(self, events: Sequence[StoredEvent]) -> None:
        """
        Save events that another process made, all of them or none.

        Raises:
            IntegrityError: one of them is stored already.

        """
        self.recorder.insert_events(events)

    def evict(self, stream_id: UUID) -> None:
        """Forget the cached aggregate, whose unsaved changes must never be seen again."""
        cache = self.repository.cache
        if cache is not None:
            try:
                cache.get(stream_id, evict=True)
            except KeyError:
                return


def _prepare(path: Path) -> None:
    """Mark a new file as ours, and refuse one that is newer than the program."""
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)
    try:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if schema > STORE_SCHEMA:
            message = (
                f"the event store {path} has schema {schema}, this program knows {STORE_SCHEMA}: "
                "install the newer program again, it reads this store"
            )
            raise StoreTooNew(message)
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if tables and EVENTS_TABLE not in tables:
            message = (
                f"{path} is a database of another program: move it away, and put a backup of the event store "
                "in its place"
            )
            raise StoreDamaged(message)
        if schema < STORE_SCHEMA:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={STORE_SCHEMA}")
            connection.commit()
    finally:
        connection.close()


def _not_opened(path: Path, error: Exception) -> str:
    return (
        f"the event store {path} cannot be opened ({error}): see that the file is yours, the disk has room "
        "and no other program holds it"
    )


def _damaged(path: Path, error: Exception) -> str:
    return (
        f"the event store {path} cannot be read ({error}): move it aside to go on with an empty one; "
        "`te audit export` still prints what is readable of a store"
    )
