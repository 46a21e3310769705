"""Wraps named attributes so that the process ends itself there by SIGKILL, and says before where it was."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watched_sqlite import WatchedConnection, watch

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

STATEMENT = "statement"
"""In place of an attribute: any SQL statement, seen as `<statement> @ <file>`."""


@dataclass(frozen=True)
class Where:
    """
    One moment of a process.

    Attributes:
        attribute: `module:name`, or STATEMENT.
        when: before or after the call.
        nth: which call, counted from 1.
        matching: only calls in whose arguments (or statement) this text occurs.

    """

    attribute: str
    when: str
    nth: int = 1
    matching: str = ""

    def __str__(self) -> str:
        return f"{self.when} {self.attribute} #{self.nth} {self.matching}".strip()


class _Trap:
    def __init__(self, where: Where, tell: int) -> None:
        self._where = where
        self._tell = tell
        self._seen = 0

    def spring(self, when: str, what: str) -> None:
        if when != self._where.when or self._where.matching not in what:
            return
        self._seen += 1
        if self._seen == self._where.nth:
            os.write(self._tell, str(self._where).encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, connection: sqlite3.Connection, statement: str) -> None:
        self._spring_at_statement("before", connection, statement)

    def after(self, connection: sqlite3.Connection, statement: str) -> None:
        self._spring_at_statement("after", connection, statement)

    def _spring_at_statement(self, when: str, connection: sqlite3.Connection, statement: str) -> None:
        file = connection.file if isinstance(connection, WatchedConnection) else ""
        self.spring(when, f"{statement} @ {file}")


def set_trap(where: Where, tell: int) -> None:
    """End this process at that moment; `tell` is the descriptor that learns of it."""
    trap = _Trap(where, tell)
    if where.attribute == STATEMENT:
        watch(trap)
        return
    module_name, _, path = where.attribute.partition(":")
    owner: Any = importlib.import_module(module_name)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    setattr(owner, name, _wrapped(getattr(owner, name), trap))


def _wrapped(function: Callable[..., Any], trap: _Trap) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wait(*arguments: Any, **options: Any) -> Any:
            trap.spring("before", f"{arguments}{options}")
            result = await function(*arguments, **options)
            trap.spring("after", f"{arguments}{options}")
            return result

        return wait

    def call(*arguments: Any, **options: Any) -> Any:
        trap.spring("before", f"{arguments}{options}")
        result = function(*arguments, **options)
        trap.spring("after", f"{arguments}{options}")
        return result

    return call
