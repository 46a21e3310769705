"""An agent's repository and environment may be anyone's: nothing in them changes what is stored."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from daemon_runs import status, until
from hook_payloads import failing_step, payload, prompt
from workbench import rows_of

from tokeneconomizer.console.installations.given import hook_words, te_words
from tokeneconomizer.hosts.hook.te_hook_core import ENVIRONMENT_NAMES
from tokeneconomizer.scheduler.environment import FORBIDDEN_VARIABLES
from tokeneconomizer.scheduler.home import Home

MODULES = (
    "_signal.py", "asyncio.py", "click.py", "console/__init__.py", "domain/__init__.py",
    "encodings/__init__.py", "eventsourcing/__init__.py", "hook_cold.py", "hosts/__init__.py", "json.py",
    "orjson.py", "os.py", "poison.py", "posix.py", "scheduler/__init__.py", "site.py", "sitecustomize.py",
    "socket.py", "sqlite3.py", "te_hook_core.py", "time.py", "tokeneconomizer/__init__.py",
    "usercustomize.py",
)  # fmt: skip

PLANTED = "planted-0123456789"
"""Stands in every variable of the allow-list that may hold a key."""

HARMLESS = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"}

OWN = ("timestamp", "delivery_id", "hash", "checkout", "repository", "parent")
"""Parts of field names whose values differ between two homes or two runs."""

HOOK_S_MAX = 30


@dataclass
class Place:
    """A home, a user's home, and the repository in which the agent works."""

    root: Path
    variables: Mapping[str, str]

    def __post_init__(self) -> None:
        self.repository.mkdir()
        (self.root / "user").mkdir()

    @property
    def home(self) -> Home:
        return Home(self.root / "state")

    @property
    def repository(self) -> Path:
        return self.root / "repository"

    def run(self, *command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        own = {"HOME": str(self.root / "user"), "TOKENECONOMIZER_HOME": str(self.home.root)}
        return subprocess.run(
            command,
            input=given,
            cwd=self.repository,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", **self.variables, **own},
            capture_output=True,
            check=True,
            timeout=HOOK_S_MAX,
        )

    def hook(self, event: str, given: bytes) -> Mapping[str, object]:
        flags = ["--host", "claude_code", "--event", event, "--via", "plugin"]
        done = self.run(*hook_words(), *flags, given=given)
        assert done.stderr == b""
        reply: Mapping[str, object] = json.loads(done.stdout)
        return reply

    def te(self, *arguments: str) -> Mapping[str, object]:
        done = self.run(*te_words(), *arguments, "--json")
        assert done.stderr == b""
        value: Mapping[str, object] = json.loads(done.stdout)
        return value

    def live(self) -> tuple[Mapping[str, object], Mapping[str, object]]:
        """A session that begins without a daemon and goes in circles: its last reply, the daemon's status."""
        self.hook("SessionStart", payload("SessionStart", source="startup"))
        until(lambda: status(self.home) is not None)
        self.hook("SessionStart", payload("SessionStart", source="startup", session_id="session-2"))
        self.hook("UserPromptSubmit", prompt("mend it"))
        reply: Mapping[str, object] = {}
        for call in "abc":
            failure, step = failing_step(call)
            self.hook("PostToolUseFailure", failure)
            reply = self.hook("PostToolBatch", step)
        return reply, self.te("daemon", "status")

    def stop(self) -> None:
        self.run(*te_words(), "daemon", "stop")

    def stored(self) -> list[tuple[object, object]]:
        rows = rows_of(
            self.home.events, "SELECT topic, CAST(state AS TEXT) FROM stored_events ORDER BY rowid"
        )
        return [(topic, _comparable(json.loads(str(state)))) for topic, state in rows]


def _comparable(state: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in state.items() if not any(part in name for part in OWN)}


def hostile_variables(modules: Path) -> dict[str, str]:
    planted = {os.fsdecode(name): PLANTED for name in ENVIRONMENT_NAMES if os.fsdecode(name) not in HARMLESS}
    return {
        **planted,
        **dict.fromkeys(FORBIDDEN_VARIABLES, "poison:Anything"),
        "IS_SNAPSHOTTING_ENABLED": "poison",
        "SQLITE_DBNAME": str(modules / "hijacked.db"),
        "TOKENECONOMIZER_SQLITE_DBNAME": str(modules / "hijacked.db"),
        "PYTHONPATH": f"{modules}{os.pathsep}.",
        "PYTHONHOME": str(modules),
        "PYTHONSTARTUP": str(modules / "poison.py"),
        "PYTHONUSERBASE": str(modules),
        "PYTHONINSPECT": "1",
        "PYTHONWARNINGS": "error",
        "PYTHONBREAKPOINT": "poison.anything",
        # A library that is loaded anyway: the loader says nothing.
        "LD_PRELOAD": "libc.so.6",
        "BASH_ENV": str(modules / "poison.py"),
    }


@pytest.fixture
def folder() -> Iterator[Path]:
    # Short: a socket's path may have about 104 bytes.
    with tempfile.TemporaryDirectory(prefix="te-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def places(folder: Path) -> Iterator[tuple[Place, Place]]:
    for name in ("quiet", "hostile"):
        (folder / name).mkdir()
    quiet = Place(folder / "quiet", {})
    hostile = Place(folder / "hostile", {})
    for module in MODULES:
        path = hostile.repository / module
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(folder / 'hijacked')!r}, 'a').write({module!r} + chr(10))\n")
    hostile.variables = hostile_variables(hostile.repository)
    try:
        yield quiet, hostile
    finally:
        for place in (quiet, hostile):
            place.stop()


def test_a_hostile_environment_changes_nothing_in_what_is_stored(
    places: tuple[Place, Place], folder: Path
) -> None:
    quiet, hostile = places
    expected, _ = quiet.live()
    reply, daemon = hostile.live()

    assert not (folder / "hijacked").exists(), (folder / "hijacked").read_text()
    assert not (hostile.repository / "hijacked.db").exists()
    assert "additionalContext" in str(reply)
    assert reply == expected
    assert hostile.stored() == quiet.stored()
    assert daemon["agents_heard"] == ["claude_code"]


def test_what_came_with_a_session_start_is_in_no_file(places: tuple[Place, Place]) -> None:
    _, hostile = places
    _, daemon = hostile.live()
    hostile.te("status")

    files = [path for path in hostile.root.rglob("*") if path.is_file()]
    assert hostile.home.events in files
    assert not [path for path in files if PLANTED.encode() in path.read_bytes()]
    assert daemon["agents_heard"] == ["claude_code"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's environment")
def test_the_daemon_gets_nothing_of_the_agents_environment(places: tuple[Place, Place]) -> None:
    _, hostile = places
    _, daemon = hostile.live()

    records = Path(f"/proc/{daemon['pid']}/environ").read_bytes().split(b"\0")
    names = {record.partition(b"=")[0].decode() for record in records if record}
    assert names <= {"HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "TOKENECONOMIZER_HOME"}
