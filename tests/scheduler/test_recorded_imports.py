"""The recorded sessions of all agents, laid out as in a home, imported twice."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import opencode_layouts
import pytest
from log_reading import CORPUS
from workbench import rows_of

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.import_logs import Import, Summary
from tokeneconomizer.scheduler.importing import Ground
from tokeneconomizer.scheduler.log_places import LogPlaces
from tokeneconomizer.scheduler.sending import Sending

RECORDINGS = CORPUS / "transcripts" / "real"

LAYOUT = {
    "claude": ".claude",
    "codex": ".codex",
    "copilot": ".copilot",
    "pi": ".pi/agent",
}
"""Folder of the recordings -> where the agent keeps it."""

LONG_AGO = 1_700_000_000
"""When the copies were last written to: nothing of them goes on."""

pytestmark = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="no recordings: name their folder in TOKENECONOMIZER_CORPUS"
)


def laid_out(user_home: Path) -> Path:
    for name, folder in LAYOUT.items():
        shutil.copytree(RECORDINGS / name, user_home / folder)
    database = user_home / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    exports = sorted((RECORDINGS / "opencode" / "export").rglob("*.json"))
    opencode_layouts.write_database(database, *(json.loads(path.read_bytes()) for path in exports))
    for path in user_home.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return user_home


def run(home: Home, user_home: Path) -> Summary:
    with EventLog(home.events) as log, Sending(home) as sending:
        ground = Ground(log, Hasher(home.key()), str(user_home), LogPlaces(str(user_home)).of, sending.send)
        return Import(ground, home.cache).run(find(AgentHomes(user_home), LOGS))


def digest_of(home: Home) -> str:
    rows = rows_of(
        home.events,
        "SELECT originator_id, originator_version, topic, state FROM stored_events "
        "ORDER BY originator_id, originator_version",
    )
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def test_all_recordings_are_imported_once_however_often() -> None:
    with TemporaryDirectory() as folder:
        user_home = laid_out(Path(folder) / "user")
        home = Home(Path(folder) / "state")
        home.create()
        first = run(home, user_home)
        before = digest_of(home)

        again = run(home, user_home)
        (home.cache / "imported.msgpack").unlink()
        from_the_beginning = run(home, user_home)

        assert digest_of(home) == before
        assert (again.files, again.events, from_the_beginning.events) == (0, 0, 0)
        assert from_the_beginning.files == first.files
        assert first.unreadable == []
        hosts = Counter(
            json.loads(bytes(state))["host"]  # type: ignore[call-overload]
            for (state,) in rows_of(
                home.events, "SELECT state FROM stored_events WHERE topic = 'session.started'"
            )
        )
        assert set(hosts) == set(LOGS)
