"""Asking whoever may write events: the running daemon, or this process while it holds the lock."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self, cast

import structlog

from tokeneconomizer.domain.errors import DaemonUnreachable, TokeneconomizerError
from tokeneconomizer.scheduler import client
from tokeneconomizer.scheduler.building import build
from tokeneconomizer.scheduler.control import STORE_IMPORTED, execute
from tokeneconomizer.scheduler.lock import held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokeneconomizer.scheduler.building import Parts
    from tokeneconomizer.scheduler.home import Home
    from tokeneconomizer.scheduler.imported_events import ImportedEvent


class Sending:
    """
    A way into the store; where no daemon runs, the lock is held from the first command to the end.

    Args:
        home: whose store.

    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._parts: Parts | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def send(self, events: Sequence[ImportedEvent]) -> None:
        """Have imported events stored; raises as `ask`."""
        self.ask({"name": STORE_IMPORTED, "events": [list(event) for event in events]})

    def ask(self, request: Mapping[str, object]) -> Mapping[str, object]:
        """
        Return the answer to a command when it is done.

        Raises:
            DaemonRunning: a daemon holds the lock and does not answer.
            TokeneconomizerError: the command was refused.

        """
        if self._parts is not None:
            return execute(self._parts, request)
        try:
            answer = client.ask(self._home, "command", request).data
        except DaemonUnreachable:
            return execute(self._open(), request)
        if "error" in answer:
            raise TokeneconomizerError(str(answer["error"]))
        return answer

    def _open(self) -> Parts:
        self._home.create()
        self._opened.enter_context(held(self._home.lock))
        parts = self._parts = build(self._home, cast("structlog.stdlib.BoundLogger", structlog.get_logger()))
        self._opened.callback(parts.store.close)
        return parts


def submit(home: Home, request: Mapping[str, object]) -> Mapping[str, object]:
    """Send one command; see `Sending.ask`."""
    with Sending(home) as sending:
        return sending.ask(request)
