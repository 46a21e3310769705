from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from workbench import Workbench, rows_of

from tokeneconomizer.domain.commands import SessionKey
from tokeneconomizer.domain.errors import StoreDamaged, StoreTooNew, TokeneconomizerError
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.usage import Usage
from tokeneconomizer.scheduler.environment import FORBIDDEN_VARIABLES
from tokeneconomizer.scheduler.store import APPLICATION_ID, STORE_SCHEMA, EventStore, chain_link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = b"a key for tests"
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
PATIENCE_S = 60

STARTS_A_STORE = """
    import sys
    from datetime import UTC, datetime
    from pathlib import Path
    from tokeneconomizer.domain.usage import Usage
    from tokeneconomizer.scheduler.store import EventStore

    store = EventStore(Path(sys.argv[1]), b"a key for tests")
    for number in range(int(sys.argv[3])):
        store.save(
            Usage._create(
                Usage.Created,
                id=Usage.create_id(sys.argv[2], str(number)),
                timestamp=datetime(2026, 1, 5, tzinfo=UTC),
                host=sys.argv[2], session_id=str(number), repository="",
            )
        )
    store.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.fixture
def store(path: Path) -> Iterator[EventStore]:
    store = EventStore(path, KEY)
    yield store
    store.close()


def save(store: EventStore, *names: str) -> None:
    for name in names:
        store.save(
            Usage._create(  # noqa: SLF001 - how the library makes an aggregate
                Usage.Created,
                id=Usage.create_id("claude_code", name),
                timestamp=NOON,
                host="claude_code",
                session_id=name,
                repository="",
            )
        )


def positions(path: Path) -> list[object]:
    return [position for (position,) in rows_of(path, "SELECT rowid FROM stored_events ORDER BY rowid")]


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def start_writer(path: Path, name: str, count: int, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STARTS_A_STORE), str(path), name, str(count)],
        env={"PATH": os.defpath, "HOME": str(path.parent), **variables},
        cwd=path.parent,
    )


def test_the_number_of_a_deleted_row_is_never_given_again(path: Path, store: EventStore) -> None:
    save(store, "one", "two", "three")
    change(path, "DELETE FROM stored_events WHERE rowid = 3")
    save(store, "four")

    assert positions(path) == [1, 2, 4]


def test_numbers_stay_when_the_file_is_compacted_or_dumped_and_restored(path: Path) -> None:
    store = EventStore(path, KEY)
    save(store, "one", "two", "three", "four")
    store.close()
    change(path, "DELETE FROM stored_events WHERE rowid IN (2, 4)", "VACUUM")
    restored = path.with_name("restored.db")
    old, new = sqlite3.connect(path), sqlite3.connect(restored)
    new.executescript("\n".join(old.iterdump()))
    old.close()
    new.close()
    again = EventStore(restored, KEY)
    save(again, "five")
    again.close()

    assert positions(path) == [1, 3]
    assert positions(restored) == [1, 3, 5]


def test_every_connection_of_the_pool_is_fast_and_safe(store: EventStore) -> None:
    def pragmas() -> list[object]:
        found = []
        for name in ("synchronous", "journal_mode"):
            with datastore.get_connection(commit=False) as connection:
                cursor = connection.cursor()
                cursor.execute(f"PRAGMA {name}")
                found.append(cursor.fetchone()[0])
        return found

    normal = 1
    datastore = store.recorder.datastore  # type: ignore[attr-defined]
    first = pragmas()
    with datastore.get_connection(commit=False), datastore.get_connection(commit=False):
        third = pragmas()

    assert first == third == [normal, "wal"]


def test_a_writer_holds_the_file_from_its_first_moment_and_a_reader_does_not(
    path: Path, store: EventStore
) -> None:
    datastore = store.recorder.datastore  # type: ignore[attr-defined]
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with datastore.transaction(commit=True), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    with datastore.transaction(commit=False):
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    other.close()


def test_two_processes_that_write_at_once_wait_for_each_other_and_lose_nothing(path: Path) -> None:
    EventStore(path, KEY).close()
    writers = [start_writer(path, name, 40) for name in ("first", "second")]

    assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0]
    assert len(positions(path)) == 80
    assert broken_links(path) == []


def test_the_files_are_for_the_user_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0o022)
    try:
        store = EventStore(path, KEY)
        save(store, "one")
        modes = {file.name: mode_of(file) for file in path.parent.iterdir()}
        store.close()
        after = os.umask(0o022)
    finally:
        os.umask(before)

    assert modes == {"events.db": 0o600, "events.db-wal": 0o600, "events.db-shm": 0o600}
    assert after == 0o022


def test_the_file_says_whose_it_is_and_of_which_schema(path: Path, store: EventStore) -> None:
    save(store, "one")

    assert rows_of(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows_of(path, "PRAGMA user_version") == [(STORE_SCHEMA,)]


@pytest.mark.parametrize(
    "variables",
    [
        {name: "poison:Anything" for name in FORBIDDEN_VARIABLES if name != "TZINFO_TOPIC"},
        {f"TOKENECONOMIZER_{name}": "poison:Anything" for name in FORBIDDEN_VARIABLES},
        {"IS_SNAPSHOTTING_ENABLED": "n", "SQLITE_DBNAME": "elsewhere.db", "CIPHER_KEY": "x"},
        {"PERSISTENCE_MODULE": "eventsourcing.popo", "AGGREGATE_CACHE_MAXSIZE": "0"},
    ],
)
def test_the_environment_configures_nothing(path: Path, variables: dict[str, str]) -> None:
    poisoned = path.with_name("modules")
    poisoned.mkdir()
    (poisoned / "poison.py").write_text(f"open({str(path.with_name('was imported'))!r}, 'w').close()\n")
    writer = start_writer(path, "any", 1, PYTHONPATH=str(poisoned), **variables)

    assert writer.wait(PATIENCE_S) == 0
    assert positions(path) == [1]
    assert sorted(file.name for file in path.parent.iterdir()) == ["events.db", "modules"]


def test_a_store_of_a_newer_program_is_refused_in_words_and_left_as_it_is(path: Path) -> None:
    EventStore(path, KEY).close()
    change(path, f"PRAGMA user_version={STORE_SCHEMA + 1}")
    before = path.read_bytes()

    with pytest.raises(
        StoreTooNew, match=f"schema {STORE_SCHEMA + 1}, this program knows {STORE_SCHEMA}: install"
    ):
        EventStore(path, KEY)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_in_words_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"this is no database, " * 500)
    before = path.read_bytes()

    with pytest.raises(StoreDamaged, match=r"cannot be read .*: move it aside"):
        EventStore(path, KEY)
    assert path.read_bytes() == before


def test_a_database_that_is_damaged_behind_its_first_bytes_is_refused_in_words(path: Path) -> None:
    store = EventStore(path, KEY)
    save(store, "one")
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))

    with pytest.raises(StoreDamaged, match=r"cannot be read .*: move it aside"):
        EventStore(path, KEY)


def test_a_store_that_cannot_be_opened_is_not_called_damaged(path: Path) -> None:
    path.mkdir()

    with pytest.raises(TokeneconomizerError) as refused:
        EventStore(path, KEY)
    assert "cannot be opened" in str(refused.value)
    assert "move it aside" not in str(refused.value)


def broken_links(path: Path) -> list[int]:
    """The rows whose link is not what all rows up to them give."""
    link, broken = b"", []
    rows = rows_of(
        path,
        "SELECT rowid, originator_id, originator_version, topic, state, chain FROM stored_events ORDER BY 1",
    )
    for position, *row, stored in rows:
        link = chain_link(KEY, link, tuple(row))  # type: ignore[arg-type]
        if link != stored:
            broken.append(int(str(position)))
    return broken


def test_each_row_is_linked_to_all_rows_before_it(path: Path, store: EventStore) -> None:
    save(store, "one", "two")
    session = Session.start(
        SessionKey("claude_code", "s"),
        NOON,
        **dict.fromkeys(("delivery_id", "parent", "agent_type", "repository", "checkout"), ""),
        **dict.fromkeys(("source", "model", "content_hash"), ""),
        limits="{}",
    )
    session.trigger_event(Session.SessionEnded, timestamp=NOON, delivery_id="", reason="other")
    store.save(session)
    save(store, "three")

    assert positions(path) == [1, 2, 3, 4, 5]
    assert broken_links(path) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE stored_events SET state = CAST(replace(CAST(state AS TEXT), 'three', 'thref') AS BLOB)",
        "UPDATE stored_events SET topic = 'usage.recorded' WHERE rowid = 3",
        "UPDATE stored_events SET originator_version = 2 WHERE rowid = 3",
        "UPDATE stored_events SET chain = zeroblob(16) WHERE rowid = 3",
    ],
)
def test_a_changed_row_breaks_the_chain_from_there(path: Path, store: EventStore, statement: str) -> None:
    save(store, "one", "two", "three", "four")
    change(path, statement)

    assert broken_links(path)[:1] == [3]
    assert broken_links(path) in ([3, 4], [3])


def test_a_removed_row_breaks_the_chain_and_another_key_fits_nowhere(path: Path, store: EventStore) -> None:
    save(store, "one", "two", "three")
    change(path, "DELETE FROM stored_events WHERE rowid = 2")
    row = ("a" * 32, 1, "topic", b"{}")

    assert broken_links(path) == [3]
    assert chain_link(b"other", b"", row) != chain_link(KEY, b"", row)


POISON = [
    '{"_type_": "uuid_hex", "_data_": "0"}',
    "\\ud83d and \\udc00",
    "\\u0000 \\u001b[31m",
]


@pytest.mark.parametrize("poison", POISON)
def test_no_text_of_an_agent_poisons_a_stream(bench: Workbench, poison: str) -> None:
    text = poison.replace('"', '\\"')
    told = [
        hooks.payload("SessionStart", source="TEXT", model="TEXT", cwd="TEXT"),
        hooks.prompt("TEXT Bash", prompt_id="TEXT"),
        hooks.step(hooks.tool_call("TEXT", "TEXT", "TEXT", command="TEXT", file_path="TEXT")),
        hooks.step(
            hooks.tool_call("TEXT 2", "Bash", ["TEXT"], command="echo TEXT", nested={"TEXT": ["TEXT"]})
        ),
        hooks.payload("PostCompact", trigger="TEXT", compact_summary="TEXT"),
        hooks.payload("StopFailure", error="TEXT"),
        hooks.payload("SessionEnd", reason="TEXT"),
    ]
    told = [payload.replace(b"TEXT", text.encode()) for payload in told]
    replies = [bench.call(payload) for payload in told]
    with Workbench(bench.home) as restarted:
        restarted.call(told[-1])

    assert {reply.data for reply in replies} == {b"{}"}
    assert bench.warnings() == []
    assert bench.topics() == [
        "started", "prompt_submitted", "tool_called", "tool_returned", "tool_called", "tool_returned",
        "compacted", "turn_ended", "ended", "archived",
    ]  # fmt: skip


def test_an_object_in_place_of_a_text_is_no_text(bench: Workbench) -> None:
    typed = {"_type_": "uuid_hex", "_data_": "0"}
    bench.call(hooks.payload("SessionStart", source=typed, model=typed))
    bench.call(hooks.step(hooks.tool_call("call-1", "Bash", typed, command=typed, file_path=typed)))
    with Workbench(bench.home) as restarted:
        restarted.call(hooks.payload("SessionEnd", reason=typed))

    assert bench.topics() == ["started", "tool_called", "tool_returned", "turn_ended", "ended", "archived"]
