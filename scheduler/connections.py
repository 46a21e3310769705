"""
Connections on a Unix socket, served without a round of the event loop where nothing has to be waited for.

A hook client sends its whole request at once: by the time its connection is accepted the request is there, or
comes within microseconds. The event loop's own streams take as long for each call as storing it does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from types import coroutine
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

CONNECTIONS_WAITING_MAX = 512
"""More hooks than that never start within one round trip."""

CHUNK_BYTES = 262_144
"""More than what a socket holds: one read takes all that has come."""

AT_ONCE_S = 0.001
"""A client that was accepted sends within this time; nobody else is kept waiting for longer by a slow one."""

ACCEPT_AGAIN_S = 1.0
"""Without a free file descriptor there is nothing better to do than to wait for one."""

CLOSING_S_MAX = 0.5
"""Replies on their way are finished; clients that hang are not waited for."""


class HungUp(OSError):
    """The client went away in the middle of its request."""


@coroutine
def _go_on_in_a_task() -> Generator[None, None, None]:
    """Give way once: the listener, which runs a coroutine up to here, makes a task of the rest."""
    yield


class Connection:
    """
    One client. Its coroutine runs without a task for as long as nothing has to be waited for.

    Args:
        accepted: its socket.
        seconds_max: how long it may take, until `allow` says otherwise.

    """

    def __init__(self, accepted: socket.socket, seconds_max: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = accepted
        now = self._loop.time()
        self._may_block_until = now + AT_ONCE_S
        self._deadline = now + seconds_max
        self._is_patient = False
        self._given_back = b""

    def allow(self, seconds_max: float) -> None:
        """Give the client so much time from now on."""
        self._deadline = self._loop.time() + seconds_max

    def give_back(self, data: bytes) -> None:
        """Have it received once more: it belongs to what comes next."""
        self._given_back = data + self._given_back

    async def has_more(self) -> bool:
        """Wait for the client's next request, however long it takes; tell whether one comes."""
        await self._be_patient()
        # Others come in between, also when this client never stops sending.
        await asyncio.sleep(0)
        with suppress(OSError):
            self._given_back = self._given_back or await self._loop.sock_recv(self._socket, CHUNK_BYTES)
        return bool(self._given_back)

    def end(self) -> None:
        """Let nothing come any more; who waits for it goes on."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    async def receive(self) -> bytes:
        """
        Return what comes next.

        Raises:
            HungUp: nothing comes any more.
            TimeoutError: the client's time is over.

        """
        data = self._taken_back() or self._received_at_once()
        if data is None:
            await self._be_patient()
            async with asyncio.timeout_at(self._deadline):
                data = await self._loop.sock_recv(self._socket, CHUNK_BYTES)
        if not data:
            message = "the client hung up before its request was whole"
            raise HungUp(message)
        return data

    async def send(self, data: bytes) -> None:
        """Send all of it, unless the client went away or its time is over."""
        try:
            sent = self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(data):
            with suppress(OSError):
                await self._be_patient()
                async with asyncio.timeout_at(self._deadline):
                    await self._loop.sock_sendall(self._socket, data[sent:])

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _taken_back(self) -> bytes:
        data, self._given_back = self._given_back, b""
        return data

    def _received_at_once(self) -> bytes | None:
        try:
            return self._socket.recv(CHUNK_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        if self._is_patient or self._loop.time() > self._may_block_until:
            return None
        self._socket.settimeout(AT_ONCE_S)
        try:
            return self._socket.recv(CHUNK_BYTES)
        except TimeoutError:
            return None
        finally:
            self._socket.settimeout(None)

    async def _be_patient(self) -> None:
        if not self._is_patient:
            self._is_patient = True
            self._socket.settimeout(0)
            await _go_on_in_a_task()


class Kept:
    """
    Connections whose clients go on asking, kept open between two requests.

    Args:
        number_max: how many; the clients beyond them connect anew for each request.

    """

    def __init__(self, number_max: int) -> None:
        self._number_max = number_max
        self._idle: set[Connection] = set()
        self._is_closed = False

    async def has_more(self, connection: Connection) -> bool:
        """Wait for the next request; tell whether it comes."""
        if self._is_closed or len(self._idle) >= self._number_max:
            return False
        self._idle.add(connection)
        try:
            return await connection.has_more()
        finally:
            self._idle.discard(connection)

    def close(self) -> None:
        """Hang up on all that wait, and keep none any more."""
        self._is_closed = True
        for connection in self._idle:
            connection.end()


class Listener:
    """
    Accepts connections at a path and lets each be served.

    Args:
        path: of the socket; one that a dead process left there is replaced.
        serve: serves one connection; it waits for its `Connection` alone, raises nothing and hangs up in the
            end.
        closes: called when nobody is accepted any more.

    """

    def __init__(
        self,
        path: str,
        serve: Callable[[socket.socket], Coroutine[None, None, None]],
        closes: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._serve = serve
        self._closes = closes
        self._tasks: set[asyncio.Task[None]] = set()
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(path).st_mode):  # noqa: PTH116 - a bare name, relative on purpose
                Path(path).unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(0)
            self._socket.bind(path)
            self._socket.listen(CONNECTIONS_WAITING_MAX)
        except BaseException:
            self._socket.close()
            raise
        self._listen()

    def close(self) -> None:
        """Accept nobody any more."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._closes()

    async def wait_closed(self) -> None:
        """Wait until the replies on their way are sent."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSING_S_MAX)

    def _listen(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        try:
            accepted, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:
            # Asked again at once, the system would say the same.
            self._loop.remove_reader(self._socket)
            self._loop.call_later(ACCEPT_AGAIN_S, self._listen)
            return
        serving = self._serve(accepted)
        try:
            serving.send(None)
        except StopIteration:
            # Answered at once: a task would have cost two rounds of the event loop.
            return
        task = self._loop.create_task(serving)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
