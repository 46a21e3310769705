"""SQLite with an observer, who is told of each statement before and after it and may raise or kill there."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Observer(Protocol):
    """What wants to know of statements."""

    def before(self, connection: sqlite3.Connection, statement: str) -> None: ...

    def after(self, connection: sqlite3.Connection, statement: str) -> None: ...


class _Nobody:
    def before(self, connection: sqlite3.Connection, statement: str) -> None:
        pass

    def after(self, connection: sqlite3.Connection, statement: str) -> None:
        pass


class WatchedConnection(sqlite3.Connection):
    """A connection whose cursors tell."""

    observer: Observer = _Nobody()
    file: str = ""
    """The database's name, without its folder."""

    def cursor(self, *_: Any, **__: Any) -> Any:  # the signature differs between versions
        return super().cursor(WatchedCursor)

    # The driver's own would go past the cursor.
    def execute(self, sql: str, *parameters: Any) -> Any:
        return self.cursor().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> Any:
        return self.cursor().executemany(sql, *parameters)

    def commit(self) -> None:
        self.observer.before(self, "COMMIT")
        super().commit()
        self.observer.after(self, "COMMIT")


class WatchedCursor(sqlite3.Cursor):
    """A cursor that tells."""

    def execute(self, sql: str, *parameters: Any) -> Any:
        connection = self.connection
        assert isinstance(connection, WatchedConnection)
        connection.observer.before(connection, sql)
        super().execute(sql, *parameters)
        connection.observer.after(connection, sql)
        return self

    def executemany(self, sql: str, *parameters: Any) -> Any:
        connection = self.connection
        assert isinstance(connection, WatchedConnection)
        connection.observer.before(connection, sql)
        super().executemany(sql, *parameters)
        connection.observer.after(connection, sql)
        return self


def watch(observer: Observer) -> None:
    """Have all connections that are opened from here on tell the observer."""
    connect = sqlite3.connect

    def connect_watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        options.setdefault("factory", WatchedConnection)
        connection: sqlite3.Connection = connect(*arguments, **options)
        if isinstance(connection, WatchedConnection):
            path = str(arguments[0] if arguments else options["database"])
            connection.file = path.partition("?")[0].rpartition("/")[2]
        return connection

    WatchedConnection.observer = observer
    sqlite3.connect = connect_watched  # type: ignore[assignment]


@contextmanager
def watched_by(observer: Observer) -> Iterator[None]:
    """Watch for the time of the block."""
    connect = sqlite3.connect
    watch(observer)
    try:
        yield
    finally:
        sqlite3.connect = connect
        WatchedConnection.observer = _Nobody()
