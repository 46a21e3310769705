"""opencode's older store: a file for each session, message and part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opencode_layouts import document, reply, tool, user, write_message, write_storage

from tokeneconomizer.hosts.log_format import Batch, Cursor, Wanted
from tokeneconomizer.hosts.opencode import log, log_storage
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


def own_file(folder: Path, session_id: str = "ses_1") -> Path:
    return folder / "session" / "project" / f"{session_id}.json"


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


def turn(at: int = 1) -> list[Json]:
    return [
        user(at, "mend it"),
        reply(at + 1, tool("bash", f"call_{at}", output="x", metadata={"exit": 1}), finish="tool-calls"),
        reply(at + 2, "done"),
    ]


def test_a_session_is_read_from_its_files(tmp_path: Path) -> None:
    write_storage(tmp_path, document(*turn(), directory="/home/dev/other", version="0.5.1"))

    session, *others = read(own_file(tmp_path)).records

    assert isinstance(session, LoggedSession)
    assert (session.session_id, session.folder, session.version) == ("ses_1", "/home/dev/other", "0.5.1")
    assert [record.line for record in others if isinstance(record, LoggedCall)] == [3]
    assert len([record for record in others if isinstance(record, LoggedUsage)]) == 2


def test_messages_whose_session_has_no_file_any_more_still_count(tmp_path: Path) -> None:
    write_storage(tmp_path, document(*turn()))
    own_file(tmp_path).unlink()

    session, *others = read(tmp_path / "message" / "ses_1").records

    assert isinstance(session, LoggedSession)
    assert (session.session_id, session.folder) == ("ses_1", "/home/dev/project")
    assert len([record for record in others if isinstance(record, LoggedUsage)]) == 2


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=4), st.sampled_from(Wanted))
def test_any_split_gives_the_records_of_one_reading(
    tmp_path_factory: pytest.TempPathFactory, splits: list[int], wanted: Wanted
) -> None:
    folder = tmp_path_factory.mktemp("split")
    session = document(
        *turn(), user(4, "and this"), reply(5, finish=None, error={"name": "APIError"}), user(6)
    )
    (folder / "message" / "ses_1").mkdir(parents=True)
    write_storage(folder, {**session, "messages": []})
    records: list[Record] = []
    cursor, begin = None, 0
    for end in [*sorted(splits), 6]:
        for message in session["messages"][begin:end]:
            write_message(folder, "ses_1", message)
        begin = max(begin, end)
        batch = read(own_file(folder), cursor, wanted)
        records += batch.records
        cursor = batch.cursor
    once = read(own_file(folder), None, wanted)

    assert told(records) == told(once.records)
    assert told(batch.unfinished) == told(once.unfinished)


def test_a_reply_counts_once_when_it_is_complete_and_the_mark_tells(tmp_path: Path) -> None:
    begun = reply(2, finish=None, time={"created": reply(2)["info"]["time"]["created"]})
    session = document(user(1, "mend it"), begun)
    write_storage(tmp_path, session)
    path = own_file(tmp_path)
    first, mark = read(path), log.mark(log.file_at(path))

    write_message(tmp_path, "ses_1", document(reply(2, "done"))["messages"][0])
    second = read(path, first.cursor)

    assert log.mark(log.file_at(path)) != mark
    assert [type(record) for record in told(first.records)] == [LoggedPrompt]
    assert [type(record) for record in told(first.unfinished)] == [LoggedUsage]
    assert len([record for record in second.records if isinstance(record, LoggedUsage)]) == 1
    assert read(path, second.cursor).records == []


def test_a_batch_ends_before_it_grows_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_storage(tmp_path, document(*turn(), *turn(11)))
    whole = read(own_file(tmp_path)).records
    monkeypatch.setattr(log_storage, "BATCH_MESSAGES", 2)

    batches = list(log.read(log.file_at(own_file(tmp_path)), None, Wanted.ALL))

    assert len(batches) == 3
    assert told([record for batch in batches for record in batch.records]) == told(whole)


@pytest.mark.parametrize("content", [b"", b'{"role": "assistant", "tok', b"\xff\x00", b"[]"])
def test_a_damaged_file_costs_only_itself(tmp_path: Path, content: bytes) -> None:
    write_storage(tmp_path, document(*turn()))
    (tmp_path / "message" / "ses_1" / "msg_0002.json").write_bytes(content)
    (tmp_path / "part" / "msg_0001" / "prt_msg_0001_000.json").write_bytes(content)
    own_file(tmp_path).write_bytes(content)

    found = read(own_file(tmp_path))

    assert [record.line for record in found.records if isinstance(record, SkippedLine)] == [2, 3]
    assert found.cursor.skipped == 2
    assert len([record for record in found.records if isinstance(record, LoggedUsage)]) == 1


def test_a_file_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_storage(tmp_path, document(user(1, "x" * 2_000), *turn(2)))
    monkeypatch.setattr(log_storage, "FILE_BYTES_MAX", 1_500)

    records = read(own_file(tmp_path)).records

    assert isinstance(told(records)[0], SkippedLine)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=12))
def test_damage_adds_no_reply_and_never_raises(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    write_storage(folder, document(*turn(), *turn(11)))
    files = sorted(path for path in folder.rglob("*.json"))
    for at, byte in damage:
        path = files[at % len(files)]
        content = bytearray(path.read_bytes())
        content[at // len(files) % len(content)] = byte
        path.write_bytes(content)

    found = read(own_file(folder))

    assert sum(isinstance(record, LoggedUsage) for record in [*found.records, *found.unfinished]) <= 4
