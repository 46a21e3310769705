"""Our program in a sandbox's home: installed as a user would, asked as a user would, killed as none would."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prompt_blocks import JsonObject

TE = [sys.executable, "-I", "-m", "tokeneconomizer.console.main"]

SETTLING_S_MAX = 10  # the daemon that the last hook started drains its spool in a second
POLL_S = 0.05


@dataclass(frozen=True)
class StoredEvent:
    """One row of the event log."""

    position: int
    stream: str
    topic: str
    data: JsonObject


class Program:
    """`te` with a home of its own."""

    def __init__(self, agents_home: Path) -> None:
        self.agents_home = agents_home
        self.home = agents_home / ".tokeneconomizer"

    def te(self, *arguments: str, expected_status: int = 0) -> str:
        """Run a command and return its data."""
        done = self._run(*arguments)
        assert done.returncode == expected_status, done.stderr
        return done.stdout

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.agents_home), "LANG": "C.UTF-8"}
        return subprocess.run([*TE, *arguments], env=environment, capture_output=True, text=True, check=False)

    def start(self) -> None:
        """Start the daemon, as it is for a user who has worked a while."""
        self.te("daemon", "start")

    def stop(self) -> None:
        """Stop the daemon if one runs; what the spool holds is stored then."""
        self.te("daemon", "stop")

    def kill(self) -> None:
        """Kill the daemon, if it runs."""
        status = json.loads(self.te("daemon", "status", "--json"))
        if status.get("pid"):
            os.kill(int(status["pid"]), signal.SIGKILL)

    def settle(self) -> None:
        """Have all spooled payloads stored: a daemon does it at its start, a running one at the next call."""
        self.stop()
        self.start()
        deadline = time.monotonic() + SETTLING_S_MAX
        while any(
            not path.name.startswith(".") and path.is_file() for path in (self.home / "spool").iterdir()
        ):
            assert time.monotonic() < deadline, "the spool was not drained"
            time.sleep(POLL_S)

    def events(self, topic: str = "") -> list[StoredEvent]:
        """Return what is stored, read past the program."""
        connection = sqlite3.connect(f"file:{self.home / 'events.db'}?mode=ro", uri=True)
        try:
            rows = connection.execute(
                "SELECT rowid, originator_id, topic, state FROM stored_events ORDER BY rowid"
            )
            stored = [StoredEvent(*row[:3], json.loads(row[3])) for row in rows]
        finally:
            connection.close()
        return [event for event in stored if not topic or event.topic == f"session.{topic}"]

    def learn(self, project: Path) -> str:
        """Have what sessions taught rendered now, and return the block."""
        self.settle()
        self.look(project)
        blocks = [event for event in self.events() if event.topic == "microskills.block_rendered"]
        assert blocks, f"no block was rendered of {self.summary()}"
        return str(blocks[-1].data["text"])

    def look(self, project: Path) -> None:
        """Have the daemon do now what its timer does every half minute: it does so at a start, too."""
        # It passes over views that are behind the events, as they are when a session has just ended.
        self.te("facts", "list", "--repo", str(project))
        self.stop()
        self.start()

    def summary(self) -> str:
        """Return how many events of each kind are stored, for the ledger."""
        counts: dict[str, int] = {}
        for event in self.events():
            name = event.topic.partition(".")[2]
            counts[name] = counts.get(name, 0) + 1
        return ", ".join(f"{name} {count}" for name, count in counts.items())


@contextmanager
def daemon_running(program: Program) -> Iterator[None]:
    """Have the daemon run for the time of the block."""
    program.start()
    try:
        yield
    finally:
        program.stop()


def mentions_of_us(folder: Path) -> list[Path]:
    """Return the agent's files that name us; sessions' own logs are the user's history and stay."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if "tokeneconomizer" in str(path.relative_to(folder))
        or (path.is_file() and path.suffix != ".jsonl" and b"tokeneconomizer" in path.read_bytes())
    ]
