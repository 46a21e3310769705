"""opencode's database, read beside a running agent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from opencode_layouts import (
    document,
    insert,
    open_database,
    reply,
    tool,
    user,
    write_database,
)

from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.opencode import log, log_database
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedPrompt,
    LoggedSession,
    LoggedUsage,
    Record,
    SkippedLine,
)

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_layouts import Json


def read(path: Path, cursor: Cursor | None = None, wanted: Wanted = Wanted.ALL) -> Batch:
    """Read to the end, the cursor as it comes back from a file."""
    records: list[Record] = []
    kept = None if cursor is None else msgspec.json.decode(msgspec.json.encode(cursor), type=Cursor)
    for batch in log.read(log.file_at(path), kept, wanted):
        records += batch.records
        cursor = batch.cursor
    assert cursor is not None
    return Batch(records, cursor, batch.restarted, batch.unfinished)


def told(records: list[Record]) -> list[Record]:
    """Leave out what says whose the next records are, which each reading says again."""
    return [record for record in records if not isinstance(record, LoggedSession)]


def session(*messages: Json, **fields: object) -> Json:
    return document(*messages, **fields)  # type: ignore[arg-type]


def turn(at: int = 1) -> list[Json]:
    return [
        user(at, "mend it"),
        reply(at + 1, tool("bash", f"call_{at}", output="x", metadata={"exit": 1}), finish="tool-calls"),
        reply(at + 2, "done"),
    ]


def test_rows_that_are_only_in_the_write_ahead_log_are_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    one = session(*turn())
    with closing(open_database(path)) as database:
        insert(database, one, one["messages"])
        assert (tmp_path / "opencode.db-wal").stat().st_size > 0
        found = read(path)

    assert len([record for record in found.records if isinstance(record, LoggedUsage)]) == 2


def test_a_line_is_the_row_of_the_message(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()), session(*turn(11), session_id="ses_2"))

    calls = [record for record in read(path).records if isinstance(record, LoggedCall)]

    assert [call.line for call in calls] == [2, 5]


def test_nothing_is_written_beside_a_database_at_rest(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    assert read(path).records
    assert (
        {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        == before
        == {path.name: path.read_bytes()}
    )


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    first = read(path)

    assert read(path, first.cursor) == Batch([], first.cursor)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.integers(0, 8), max_size=4), st.sampled_from(Wanted))
def test_any_split_gives_the_records_of_one_reading(
    tmp_path_factory: pytest.TempPathFactory, splits: list[int], wanted: Wanted
) -> None:
    path = tmp_path_factory.mktemp("split") / "opencode.db"
    one = session(
        *turn(), user(4, "and this"), reply(5, finish=None, error={"name": "APIError"}), user(6, "again")
    )
    two = session(*turn(11), session_id="ses_2", parentID="ses_1")
    rows = [
        (whole, message)
        for pair in zip(one["messages"], [*two["messages"], None, None, None], strict=True)
        for whole, message in zip((one, two), pair, strict=True)
        if message is not None
    ]
    records: list[Record] = []
    cursor = None
    with closing(open_database(path)) as database:
        begin = 0
        for end in [*sorted(splits), len(rows)]:
            for whole, message in rows[begin:end]:
                insert(database, whole, [message])
            begin = max(begin, end)
            batch = read(path, cursor, wanted)
            records += batch.records
            cursor = batch.cursor
        once = read(path, None, wanted)

    assert sorted(told(records), key=repr) == sorted(told(once.records), key=repr)
    assert told(batch.unfinished) == told(once.unfinished)


def test_a_reply_counts_once_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    begun = reply(
        2, tool("bash", "a", "running"), finish=None, time={"created": reply(2)["info"]["time"]["created"]}
    )
    one = session(user(1, "mend it"), begun)
    with closing(open_database(path)) as database:
        insert(database, one, one["messages"])
        first = read(path)
        whole = session(user(1, "mend it"), reply(2, tool("bash", "a", output="x"), finish="tool-calls"))
        insert(database, whole, whole["messages"])
        second = read(path, first.cursor)
        insert(database, whole, whole["messages"])
        third = read(path, second.cursor)

    assert [type(record) for record in told(first.records)] == [LoggedPrompt]
    assert [type(record) for record in told(first.unfinished)] == [LoggedUsage, LoggedCall]
    assert len([record for record in second.records if isinstance(record, LoggedUsage)]) == 1
    assert third.records == []


def test_a_session_that_is_imported_later_is_read_although_it_is_older(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn(100)))
    first = read(path)
    with closing(open_database(path)) as database:
        older = session(*turn(1), session_id="ses_0")
        insert(database, older, older["messages"])

    found = read(path, first.cursor).records

    assert {record.usage.session_id for record in found if isinstance(record, LoggedUsage)} == {"ses_0"}


def test_a_deleted_session_takes_nothing_back(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()), session(*turn(11), session_id="ses_2"))
    first = read(path)
    with closing(open_database(path)) as database:
        database.execute("DELETE FROM message WHERE session_id = 'ses_1'")
        database.execute("DELETE FROM session WHERE id = 'ses_1'")

    second = read(path, first.cursor)

    assert (second.records, second.restarted) == ([], False)


def test_a_batch_ends_before_it_grows_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_database, "BATCH_RECORDS", 2)
    path = write_database(tmp_path / "opencode.db", session(*turn(), *turn(11)))
    whole = read(path).records

    batches = list(log.read(log.file_at(path), None, Wanted.ALL))
    rest = read(path, batches[1].cursor).records

    assert [record for batch in batches for record in batch.records] == whole
    assert told([*batches[0].records, *batches[1].records, *rest]) == told(whole)


def test_a_database_that_the_agent_opens_meanwhile_is_read_on_as_a_live_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_database, "BATCH_RECORDS", 1)
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    reading = log.read(log.file_at(path), None, Wanted.ALL)
    records = next(reading).records
    with closing(open_database(path)) as database:
        more = session(*turn(11), session_id="ses_2")
        insert(database, more, more["messages"])
        records += [record for batch in reading for record in batch.records]

    usages = [record.usage.usage_id for record in records if isinstance(record, LoggedUsage)]
    assert len(usages) == len(set(usages)) == 4


def test_a_locked_database_is_told_in_words_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_database, "WAIT_SECONDS", 0.0)
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE session (id)")
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("INSERT INTO session VALUES (1)")
        with pytest.raises(OSError, match="try again later"):
            read(path)


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + bytes(200)])
def test_what_is_no_database_is_told_in_words_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(content)

    with pytest.raises(OSError, match=r"opencode\.db"):
        list(log_database.read(str(path), None, Wanted.ALL))
    assert path.read_bytes() == content
    assert log_database.session_ids(str(path)) == set()


def test_an_absent_database_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "opencode.db")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_row_costs_only_itself(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    with closing(open_database(path)) as database:
        database.execute("UPDATE message SET data = '{\"role\": \"assis' WHERE id = 'msg_0002'")
        database.execute("UPDATE part SET data = X'ff00' WHERE message_id = 'msg_0001'")

    found = read(path)

    assert [type(record) for record in found.records] == [
        LoggedSession, SkippedLine, SkippedLine, LoggedUsage, *[type(found.records[-1])],
    ]  # fmt: skip
    assert found.cursor.skipped == 2


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=30))
@example([(3887, 128)])
def test_damage_adds_no_reply_and_raises_only_what_the_reader_may(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("damage") / "opencode.db"
    write_database(path, session(*turn(), *turn(11)), session(*turn(21), session_id="ses_2"))
    content = bytearray(path.read_bytes())
    for at, byte in damage:
        content[at % len(content)] = byte
    path.write_bytes(content)

    try:
        found = read(path)
    except OSError:
        return
    usages = {record.usage.usage_id for record in found.records if isinstance(record, LoggedUsage)}
    assert len(usages) <= 6
    assert path.read_bytes() == content


def test_the_mark_differs_once_the_agent_wrote(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    file = log.file_at(path)
    before = log.mark(file)
    with closing(open_database(path)) as database:
        more = session(*turn(11), session_id="ses_2")
        insert(database, more, more["messages"])
        assert log.mark(file) != before


def test_a_time_that_only_the_column_has_is_the_messages(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", session(*turn()))
    with closing(open_database(path)) as database:
        (data,) = database.execute("SELECT data FROM message WHERE id = 'msg_0003'").fetchone()
        kept = {**json.loads(data), "time": {"completed": 1}}
        database.execute("UPDATE message SET data = ? WHERE id = 'msg_0003'", (json.dumps(kept),))

    usages = [record.usage for record in read(path).records if isinstance(record, LoggedUsage)]

    assert [usage.at is not None for usage in usages] == [True, True]


def test_a_log_whose_shared_memory_cannot_be_made_is_read_all_the_same(tmp_path: Path) -> None:
    live = tmp_path / "live" / "opencode.db"
    path = tmp_path / "copy" / "opencode.db"
    live.parent.mkdir()
    path.parent.mkdir()
    one = session(*turn())
    with closing(open_database(live)) as database:
        insert(database, one, one["messages"])
        for end in ("", "-wal"):
            (path.parent / f"{path.name}{end}").write_bytes((live.parent / f"{live.name}{end}").read_bytes())
    (path.parent / f"{path.name}-shm").mkdir()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}

    found = read(path)

    assert sum(isinstance(record, LoggedUsage) for record in found.records) == 2
    assert {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()} == before
