from __future__ import annotations

import asyncio
import errno
import os
import socket
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.scheduler import connections
from tokeneconomizer.scheduler.connections import Connection, HungUp, Listener

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

PATIENCE_S = 30
NAME = "daemon.sock"
LARGE = b"x" * 4_000_000


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def listened(talk: Callable[[], Awaitable[None]], serve: Callable[[Connection], Awaitable[None]]) -> None:
    """Listen while a conversation lasts; every connection is served in the same way."""

    async def serve_one(accepted: socket.socket) -> None:
        connection = Connection(accepted, PATIENCE_S)
        try:
            await serve(connection)
        finally:
            connection.close()

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            listener = Listener(NAME, serve_one)
            try:
                await talk()
            finally:
                listener.close()
                await listener.wait_closed()

    asyncio.run(run())


async def say_it_back(connection: Connection) -> None:
    received = b""
    while not received.endswith(b"\n"):
        received += await connection.receive()
    await connection.send(received)


async def ask(data: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(NAME)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_what_is_larger_than_a_sockets_buffer_goes_both_ways() -> None:
    async def talk() -> None:
        assert await ask(LARGE + b"\n") == LARGE + b"\n"

    listened(talk, say_it_back)


def test_a_client_that_is_slow_keeps_nobody_waiting() -> None:
    async def talk() -> None:
        reader, writer = await asyncio.open_unix_connection(NAME)
        writer.write(b"slow")
        assert [await ask(b"%d\n" % number) for number in range(5)] == [
            b"0\n",
            b"1\n",
            b"2\n",
            b"3\n",
            b"4\n",
        ]
        writer.write(b"ly\n")
        assert await reader.read() == b"slowly\n"
        writer.close()

    listened(talk, say_it_back)


@pytest.mark.parametrize("sends_at_once", [True, False])
def test_a_task_is_made_only_for_a_client_that_has_to_be_waited_for(sends_at_once: bool) -> None:
    tasks: list[object] = []

    async def answer(connection: Connection) -> None:
        await connection.send(await connection.receive())
        tasks.append(asyncio.current_task())

    async def talk() -> None:
        client = socket.socket(socket.AF_UNIX)
        client.connect(NAME)
        if sends_at_once:
            client.sendall(b"here")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if not sends_at_once:
            client.sendall(b"late")
        while not tasks:  # noqa: ASYNC110 - the listener tells nobody when it is through
            await asyncio.sleep(0)
        assert len(client.recv(100)) == len(b"here")
        client.close()

    listened(talk, answer)
    assert [task is None for task in tasks] == [sends_at_once]


def test_connections_are_served_in_the_order_in_which_they_came() -> None:
    served: list[bytes] = []

    async def note(connection: Connection) -> None:
        served.append(await connection.receive())
        await connection.send(b"noted")

    async def talk() -> None:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for number, client in enumerate(clients):
            client.connect(NAME)
            client.sendall(b"%d" % number)
        while len(served) < len(clients):  # noqa: ASYNC110 - the listener tells nobody when it is through
            await asyncio.sleep(0)
        for client in clients:
            client.close()

    listened(talk, note)
    assert served == [b"%d" % number for number in range(20)]


def test_a_client_that_leaves_is_told_apart_from_one_that_is_silent() -> None:
    told: list[type[OSError]] = []

    async def wait_in_vain(connection: Connection) -> None:
        connection.allow(0.01)
        try:
            await connection.receive()
        except OSError as error:
            told.append(type(error))

    async def talk() -> None:
        _, leaving = await asyncio.open_unix_connection(NAME)
        leaving.close()
        await leaving.wait_closed()
        reader, silent = await asyncio.open_unix_connection(NAME)
        assert await reader.read() == b""
        silent.close()

    listened(talk, wait_in_vain)
    assert told == [HungUp, TimeoutError]


def test_a_reply_to_a_client_that_left_is_no_error() -> None:
    ended: list[bool] = []

    async def answer_late(connection: Connection) -> None:
        with pytest.raises(HungUp):
            await connection.receive()
        await connection.send(LARGE)
        ended.append(True)

    async def talk() -> None:
        client = socket.socket(socket.AF_UNIX)
        client.connect(NAME)
        client.close()
        while not ended:  # noqa: ASYNC110 - the listener tells nobody when it is through
            await asyncio.sleep(0)

    listened(talk, answer_late)


def test_without_a_free_file_descriptor_it_waits_and_accepts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "ACCEPT_AGAIN_S", 0.01)
    refusals = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))] * 3
    accept = socket.socket.accept

    def accept_or_refuse(listening: socket.socket) -> object:
        if refusals:
            raise refusals.pop()
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", accept_or_refuse)

    async def talk() -> None:
        assert await ask(b"at last\n") == b"at last\n"

    listened(talk, say_it_back)
    assert refusals == []


def test_the_socket_of_a_dead_process_is_replaced_and_any_other_file_is_not() -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(NAME)
    dead.close()

    async def talk() -> None:
        assert await ask(b"alive\n") == b"alive\n"

    listened(talk, say_it_back)
    os.unlink(NAME)  # noqa: PTH108 - a bare name, relative on purpose
    with open(NAME, "wb") as file:  # noqa: PTH123 - the same
        file.write(b"mine")
    with pytest.raises(OSError, match="in use"):
        listened(talk, say_it_back)
