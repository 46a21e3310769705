import os
import sqlite3
from datetime import timedelta, timezone
from pathlib import Path

import orjson
import pytest
from stores import NOON, STREAM, Row, add_rows, make_store, numbered, save

from tokeneconomizer.domain.errors import StoreDamaged, StoreTooNew
from tokeneconomizer.domain.setup import Setup
from tokeneconomizer.projections import event_log, event_rows
from tokeneconomizer.projections.errors import StoreUnreachable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventRow, LogEntry, Unreadable
from tokeneconomizer.scheduler import store

WIDE = {"filler": "x" * 300}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_store(tmp_path / "events.db")


def positions(entries: list[LogEntry]) -> list[int]:
    return [entry.position for entry in entries]


def test_a_store_that_is_not_there_is_an_empty_log(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.db") as log:
        assert log.is_absent
        assert log.page(0) == []
        assert log.last_position() == 0
        assert log.stream(STREAM) == []
        assert log.event(1) is None
        assert log.mark(1) is None
        make_store(tmp_path / "events.db", numbered(1))
        assert log.last_position() == 1


def test_a_file_without_tables_is_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "events.db").touch()
    with EventLog(tmp_path / "events.db") as log:
        assert log.page(0) == []


def test_an_event_is_read_as_the_program_saved_it(path: Path) -> None:
    setup = Setup.open("claude_code", NOON)
    setup.trigger_event(Setup.PolicySet, timestamp=NOON, key="lang", value='"zh"', repository="")
    save(path, setup)
    with EventLog(path) as log:
        stream = Setup.create_id("claude_code").hex
        opened = EventRow(1, stream, 1, "setup.opened", 1, NOON.isoformat(), {"host": "claude_code"})
        assert log.page(0, 1) == [opened]
        second = log.event(2)
        assert isinstance(second, EventRow)
        assert second.data == {"key": "lang", "value": '"zh"', "repository": ""}
        assert log.stream(stream) == [opened, second]
        assert log.stream("b" * 32) == []


def test_pages_follow_one_another(path: Path) -> None:
    add_rows(path, numbered(7))
    with EventLog(path) as log:
        assert [positions(log.page(after, 3)) for after in (0, 3, 6, 7)] == [[1, 2, 3], [4, 5, 6], [7], []]
        assert positions(list(log.entries(after=2))) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("name", ["with ? and # and %41.db", "ü \U0001f600.db", "a;b&mode=rwc.db"])
def test_a_path_of_odd_characters_is_that_path(tmp_path: Path, name: str) -> None:
    make_store(tmp_path / name, numbered(1))
    with EventLog(tmp_path / name) as log:
        assert log.last_position() == 1


def test_nothing_can_be_written(path: Path) -> None:
    with EventLog(path) as log:
        log.page(0)
        connection = log._connection  # noqa: SLF001 - what the class must never do
        assert connection is not None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM stored_events")


def test_times_are_given_in_utc(path: Path) -> None:
    east = timezone(timedelta(hours=8))
    add_rows(path, [Row("test.numbered", at=NOON.astimezone(east))])
    with EventLog(path) as log:
        (entry,) = log.page(0)
        assert isinstance(entry, EventRow)
        assert entry.at == "2026-01-05T12:00:00+00:00"


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"\xff",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"timestamp": null}',
        b'{"timestamp": "yesterday"}',
        b'{"timestamp": "2026-01-05T12:00:00+00:00", "x": "\\ud800"}',
    ],
)
def test_a_row_that_cannot_be_read_hides_no_other(path: Path, state: bytes) -> None:
    add_rows(path, [Row("test.numbered"), Row("test.odd", state=state), Row("test.numbered")])
    with EventLog(path) as log:
        first, odd, last = log.page(0)
    assert isinstance(first, EventRow)
    assert isinstance(odd, Unreadable)
    assert (odd.position, odd.topic) == (2, "test.odd")
    assert isinstance(last, EventRow)


def test_a_topic_that_is_no_text_hides_no_other_event(path: Path) -> None:
    add_rows(path, numbered(5))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE stored_events SET topic = CAST(x'ff' AS TEXT) WHERE rowid IN (2, 3)")
    connection.commit()
    connection.close()
    with EventLog(path) as log:
        entries = list(log.entries())
    assert [entry.position for entry in entries if isinstance(entry, EventRow)] == [1, 4, 5]


def test_an_older_class_version_is_upcast_step_by_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        event_rows,
        "UPCASTS",
        {
            "test.grown": {
                1: lambda data: {**data, "second": "2"},
                2: lambda data: {**data, "third": f"{data['second']}3"},
            }
        },
    )
    add_rows(
        path, [Row("test.grown"), Row("test.grown", {"class_version": 3, "third": "x"}), Row("test.other")]
    )
    with EventLog(path) as log:
        read = [(e.class_version, e.data) for e in log.page(0) if isinstance(e, EventRow)]
    assert read == [(3, {"second": "2", "third": "23"}), (3, {"third": "x"}), (1, {})]


def test_an_upcast_that_fails_makes_the_event_unreadable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_rows, "UPCASTS", {"test.grown": {1: lambda data: {"x": data["absent"]}}})
    add_rows(path, [Row("test.grown"), Row("test.other")])
    with EventLog(path) as log:
        assert [type(entry) for entry in log.page(0)] == [Unreadable, EventRow]


def test_the_mark_of_a_position_is_its_link_of_the_chain(path: Path) -> None:
    add_rows(path, numbered(2))
    with EventLog(path) as log:
        assert log.mark(1) != log.mark(2)
        assert log.mark(3) is None


def test_the_newest_readable_schema_is_the_stores_own() -> None:
    assert event_log.READABLE_STORE_SCHEMA == store.STORE_SCHEMA


def test_a_newer_store_is_refused_in_words(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={store.STORE_SCHEMA + 1}")
    connection.close()
    with EventLog(path) as log, pytest.raises(StoreTooNew, match="newer program"):
        log.page(0)


def test_a_file_that_is_no_database_is_told_as_damaged(tmp_path: Path) -> None:
    (tmp_path / "events.db").write_bytes(orjson.dumps(list(range(1000))))
    with EventLog(tmp_path / "events.db") as log, pytest.raises(StoreDamaged, match="backup"):
        log.page(0)


def test_a_path_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "events.db").mkdir()
    with EventLog(tmp_path / "events.db") as log, pytest.raises(StoreUnreachable, match="cannot be opened"):
        log.page(0)


def test_a_locked_store_is_told_as_locked_not_as_damaged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "LOCK_TIMEOUT_S", 0)
    add_rows(path, numbered(2))
    holder = sqlite3.connect(path)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with EventLog(path) as log, pytest.raises(StoreUnreachable, match="try again"):
        log.page(0)
    holder.close()


def test_events_around_an_overwritten_page_are_read(path: Path) -> None:
    add_rows(path, [Row("test.numbered", WIDE) for _ in range(400)])
    page_bytes = 4096
    content = bytearray(path.read_bytes())
    # The page that holds event 200 in full.
    number = content.index(f"{'x' * 300}".encode(), len(content) // 2) // page_bytes
    content[number * page_bytes : number * page_bytes + 64] = b"\xff" * 64
    path.write_bytes(content)
    with EventLog(path) as log:
        entries = list(log.entries())
    lost = [entry for entry in entries if isinstance(entry, Unreadable)]
    assert len(lost) == 1
    assert "damaged from event" in lost[0].error
    read = [entry.position for entry in entries if isinstance(entry, EventRow)]
    assert len(read) > 380
    assert read == sorted(read)
    assert (read[0], read[-1]) == (1, 400)


@pytest.mark.parametrize(("part", "at_least"), [(0.9, 320), (0.5, 160), (0.1, 1)])
def test_what_is_left_of_a_store_that_was_cut_short_is_read_before_it_is_told(
    path: Path, part: float, at_least: int
) -> None:
    add_rows(path, [Row("test.numbered", WIDE) for _ in range(400)])
    os.truncate(path, int(path.stat().st_size * part))
    read: list[LogEntry] = []
    with EventLog(path) as log, pytest.raises(StoreDamaged, match="is damaged"):
        read.extend(log.entries())
    numbers = [entry.position for entry in read if isinstance(entry, EventRow)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= at_least
