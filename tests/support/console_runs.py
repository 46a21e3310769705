"""Runs of `te`: within the test, as a process, and in a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.testing import CliRunner

from tokeneconomizer.console import failures
from tokeneconomizer.console.main import run
from tokeneconomizer.scheduler.store import EventStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from eventsourcing.domain import CanMutateAggregate
    from sessions import Telling

    from tokeneconomizer.scheduler.home import Home

PROCESS_S_MAX = 60
"""Far above what any command takes on a loaded machine."""

COMMAND = (sys.executable, "-m", "tokeneconomizer.console.main")


@dataclass(frozen=True)
class Run:
    """What a command line came to."""

    status: int
    out: str
    err: str


def te(*arguments: str) -> Run:
    """Run a command line within this process, through the one place that knows exit statuses."""
    with CliRunner().isolation() as (out, err, _):
        status = failures.guarded(lambda: run(arguments), arguments)
        return Run(status, out.getvalue().decode(), err.getvalue().decode())


def te_process(*arguments: str, variables: Mapping[str, str] | None = None) -> Run:
    """Run a command line as a process of its own."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_S_MAX,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def te_in_terminal(*arguments: str, columns: int, variables: Mapping[str, str] | None = None) -> str:
    """Return what a command line shows in a terminal of that width."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    chunks = []
    while chunk := _read(ours):
        chunks.append(chunk)
    os.close(ours)
    process.wait(PROCESS_S_MAX)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""


def keep(home: Home, *tellings: Telling) -> None:
    """Store told sessions, each stream whole, one after the other."""
    for telling in tellings:
        keep_events(home, telling.events)


def keep_events(home: Home, events: Iterable[CanMutateAggregate[UUID]]) -> None:
    """Store events of one stream."""
    home.create()
    store = EventStore(home.events, home.key())
    try:
        store.recorder.insert_events([store.mapper.to_stored_event(event) for event in events])
    finally:
        store.close()
