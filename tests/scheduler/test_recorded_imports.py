"""The recorded sessions of all agents, laid out as in a home, imported twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import opencode_layouts
import pytest
from log_reading import CORPUS
from workbench import rows_of

from tokeneconomizer.domain.digests import Hasher
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS, find
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.accounting_hosts import accounting_of
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


SOURCES = re.compile(r"tool_use/(?:tool|mcp)/.+|workspace/.+|/.+|log/api-request-shape")
"""Where a number may come from."""

MEASURED = {"tools", "mcp", "skills", "rules", "system_prompt"}
"""Kinds that an agent's log or its files tell."""


def short_ones(user_home: Path) -> Path:
    """The short recordings that each show one thing, laid out as in a home."""
    short = RECORDINGS.parent
    shutil.copytree(short / "claude_code", user_home / ".claude" / "projects")
    for scenario in sorted((short / "codex").glob("*/sessions")):
        shutil.copytree(scenario, user_home / ".codex" / "sessions", dirs_exist_ok=True)
    shutil.copytree(short / "copilot", user_home / ".copilot" / "session-state")
    shutil.copytree(short / "pi", user_home / ".pi" / "agent" / "sessions" / "--home-dev-project--")
    return settled(user_home)


def settled(user_home: Path) -> Path:
    for path in user_home.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return user_home


def accounted(home: Home) -> dict[str, list[dict[str, Any]]]:
    """The stored contexts of each agent, when each turn has one that keeps the contract."""
    hosts: dict[object, str] = {}
    turns: Counter[object] = Counter()
    found: dict[str, list[dict[str, Any]]] = {}
    query = "SELECT originator_id, topic, CAST(state AS TEXT) FROM stored_events ORDER BY rowid"
    for stream, topic, state in rows_of(home.events, query):
        data = json.loads(str(state))
        if topic == "session.started":
            hosts[stream] = data["host"]
        turns[stream] += {"session.turn_ended": 1, "session.context_accounted": -1}.get(str(topic), 0)
        if topic == "session.context_accounted":
            data["snapshot"] = json.loads(data["snapshot"])
            assert set(data["snapshot"]["entries"]) <= MEASURED
            for entry in data["snapshot"]["entries"].values():
                assert entry["tokens"] > 0
                assert all(SOURCES.fullmatch(source) for source in entry["source"].split(" + "))
            found.setdefault(hosts[stream], []).append(data)
    assert set(turns.values()) <= {0}
    return found


def laid_out(user_home: Path) -> Path:
    for name, folder in LAYOUT.items():
        shutil.copytree(RECORDINGS / name, user_home / folder)
    database = user_home / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    exports = sorted((RECORDINGS / "opencode" / "export").rglob("*.json"))
    opencode_layouts.write_database(database, *(json.loads(path.read_bytes()) for path in exports))
    return settled(user_home)


def run(home: Home, user_home: Path) -> Summary:
    with EventLog(home.events) as log, Sending(home) as sending:
        hasher, place_of = Hasher(home.key()), LogPlaces(str(user_home)).of
        accounting = accounting_of(user_home, {})
        ground = Ground(log, hasher, str(user_home), place_of, sending.send, accounting)
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
        contexts = accounted(home)
        assert set(contexts) == set(LOGS)
        assert all(context["window_tokens"] for context in contexts["codex"])


def test_what_short_recordings_show_of_a_context_is_stored_with_its_turn() -> None:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder) / "state")
        home.create()
        run(home, short_ones(Path(folder) / "user"))
        contexts = accounted(home)

    def values(host: str, name: str) -> set[object]:
        return {context[name] for context in contexts[host]}

    assert values("claude_code", "window_tokens") == {None}
    assert any("system_prompt" in context["snapshot"]["entries"] for context in contexts["claude_code"])
    assert values("codex", "window_tokens") == {258_400, 475_000}
    assert values("copilot", "window_tokens") == {64_000, None}
    assert {context["snapshot"]["providerBackend"] for context in contexts["codex"]} == {"lab"}
