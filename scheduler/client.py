"""How `te` speaks with the daemon: one request, one reply, over the home's socket."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import DaemonUnreachable
from tokeneconomizer.hosts.hook import wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.scheduler.home import Home

REPLY_S_MAX = 5.0
"""The daemon answers in milliseconds; while it drains a full spool it may take seconds."""

CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class DaemonReply:
    """The daemon's version and what it said."""

    version: str
    data: Mapping[str, object]


def ask(home: Home, kind: str, request: Mapping[str, object] | None = None) -> DaemonReply:
    """
    Return the daemon's reply.

    Args:
        home: whose daemon.
        kind: `status`, `stop` or `command`.
        request: JSON values for `command`.

    Raises:
        DaemonUnreachable: no daemon listens, or it does not answer in time.

    """
    payload = json.dumps(request or {}).encode()
    data = wire.encode_request(
        kind, time_ns=time.time_ns(), delivery_id=secrets.token_hex(16), payload=payload
    )
    try:
        received = _exchange(home, data)
        return _parse(received)
    except (OSError, ValueError) as error:
        message = f"no daemon answers in {home.root} ({error}): start it with `te daemon start`"
        raise DaemonUnreachable(message) from error


def _parse(received: bytes) -> DaemonReply:
    line, _, body = received.partition(b"\n")
    header = wire.parse_reply_header(line + b"\n")
    data = json.loads(body)
    if len(body) != header.reply_length or not isinstance(data, dict):
        message = "the reply is cut or of another kind"
        raise ValueError(message)
    return DaemonReply(header.version, data)


def _exchange(home: Home, data: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(REPLY_S_MAX)
        with _working_folder(home):
            connection.connect(home.socket.name)
        connection.sendall(data)
        chunks = []
        while chunk := connection.recv(CHUNK_BYTES):
            chunks.append(chunk)
    return b"".join(chunks)


@contextmanager
def _working_folder(home: Home) -> Iterator[None]:
    """Enter the home, so that the socket's bare name reaches it however long the home's path is."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(home.root)
        yield
    finally:
        os.fchdir(before)
        os.close(before)
