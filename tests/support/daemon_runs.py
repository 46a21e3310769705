"""Real daemons as processes of their own, and hook calls over their socket."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokeneconomizer.domain.errors import DaemonUnreachable
from tokeneconomizer.hosts.hook import wire
from tokeneconomizer.scheduler import client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokeneconomizer.scheduler.home import Home

PATIENCE_S = 30
"""Far above what a start takes on a loaded machine; a test that works never waits for it."""

COMMAND = (sys.executable, "-I", "-m", "tokeneconomizer.scheduler.daemon")


def until(holds: Callable[[], bool]) -> None:
    """Look again and again until something holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def status(home: Home) -> Mapping[str, object] | None:
    """What the daemon says of itself; None while none answers."""
    try:
        return client.ask(home, "status").data
    except DaemonUnreachable:
        return None


def start(home: Home, *, cwd: Path | None = None, **variables: str) -> subprocess.Popen[bytes]:
    """Start a daemon as the hook client and `te` do."""
    environment = {"PATH": os.defpath, "HOME": str(home.root.parent), "TOKENECONOMIZER_HOME": str(home.root)}
    return subprocess.Popen(
        COMMAND,
        env={**environment, **variables},
        cwd=cwd or home.root.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def output_of(daemon: subprocess.Popen[bytes]) -> bytes:
    """Wait for the daemon's end; return what it printed."""
    return daemon.communicate(timeout=PATIENCE_S)[0]


@contextmanager
def running(home: Home, *, cwd: Path | None = None, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that answers; ended at the block's end if it still runs."""
    daemon = start(home, cwd=cwd, **variables)
    try:
        until(lambda: daemon.poll() is not None or status(home) is not None)
        yield daemon
    finally:
        if daemon.poll() is None:
            daemon.terminate()
        output_of(daemon)


def call(
    home: Home, payload: bytes, *, event: str = "-", delivery_id: str = "", confirm: bool = True
) -> bytes:
    """One hook call, as the hook client makes it; the reply, or an OSError where none came."""
    request = wire.encode_request(
        "hook",
        host="claude_code",
        event=event,
        via="plugin",
        time_ns=time.time_ns(),
        delivery_id=delivery_id or secrets.token_hex(16),
        payload=payload,
    )
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(home.socket))
        connection.sendall(request)
        with connection.makefile("rb") as stream:
            line = stream.readline()
            if not line:
                raise ConnectionResetError
            reply = stream.read(wire.parse_reply_header(line).reply_length)
            if confirm and len(reply) > len(b"{}"):
                connection.sendall(wire.CONFIRMATION)
            # The daemon hangs up once it is through with the call.
            connection.shutdown(socket.SHUT_WR)
            stream.read()
    return reply
