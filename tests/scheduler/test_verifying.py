"""The walk over the keyed chain: each way in which a log can be changed is found, at its place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from stores import KEY, Row, add_rows, make_store, numbered

from tokeneconomizer.projections import event_log
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.scheduler.verifying import FAULTS_KEPT, Verification, verify_events

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 12


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make_store(tmp_path / "events.db", numbered(EVENTS))


def change(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def verified(store: Path, key: bytes = KEY) -> Verification:
    with EventLog(store) as log:
        return verify_events(log, key)


@pytest.mark.parametrize("page", [1, 5, 1000])
def test_an_untouched_log_is_whole(store: Path, page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log.EventLog.page_of_chain, "__defaults__", (page,))
    told: list[int] = []
    with EventLog(store) as log:
        found = verify_events(log, KEY, told.append)
    assert (found.events, found.last, found.faults) == (EVENTS, EVENTS, [])
    assert told[-1] == EVENTS
    assert len(told) == -(-EVENTS // page)


@pytest.mark.parametrize(
    ("statements", "position", "words", "broken"),
    [
        (
            ["UPDATE stored_events SET state = replace(state, '12:00:05', '12:00:06') WHERE rowid = 5"],
            5,
            "event 5 is not what was stored there",
            1,
        ),
        (["UPDATE stored_events SET topic = 'test.other' WHERE rowid = 5"], 5, "event 5 is not", 1),
        (["UPDATE stored_events SET originator_version = 99 WHERE rowid = 5"], 5, "event 5 is not", 1),
        (["UPDATE stored_events SET originator_id = 'b' WHERE rowid = 5"], 5, "event 5 is not", 1),
        (["UPDATE stored_events SET chain = x'00' WHERE rowid = 5"], 5, "event 5 is not", 2),
        (["UPDATE stored_events SET chain = 'text' WHERE rowid = 5"], 5, "event 5 is not", 1),
        (["UPDATE stored_events SET state = 'text' WHERE rowid = 5"], 5, "event 5 is not", 1),
        (["DELETE FROM stored_events WHERE rowid = 1"], 1, "event 1 is missing", 0),
        (["DELETE FROM stored_events WHERE rowid IN (5, 6, 7)"], 5, "events 5 to 7 are missing", 0),
        (["DELETE FROM stored_events WHERE rowid > 10"], 11, "events 11 to 12 are missing at the end", 0),
        (
            [
                "DELETE FROM stored_events WHERE rowid = 5",
                "UPDATE stored_events SET rowid = rowid - 1 WHERE rowid > 5",
                "UPDATE sqlite_sequence SET seq = seq - 1",
            ],
            5,
            "event 5 is not",
            1,
        ),
        (
            [
                "UPDATE stored_events SET rowid = 100 WHERE rowid = 5",
                "UPDATE stored_events SET rowid = 5 WHERE rowid = 6",
                "UPDATE stored_events SET rowid = 6 WHERE rowid = 100",
            ],
            5,
            "event 5 is not",
            3,
        ),
        (
            [
                """INSERT INTO stored_events (originator_id, originator_version, topic, state, chain)
                    SELECT 'c', 1, topic, state, chain FROM stored_events WHERE rowid = 12"""
            ],
            13,
            "event 13 is not",
            1,
        ),
    ],
)
def test_what_was_changed_is_found_at_its_place(
    store: Path, statements: list[str], position: int, words: str, broken: int
) -> None:
    change(store, *statements)
    found = verified(store)
    assert found.faults[0].position == position
    assert found.faults[0].words.startswith(words)
    assert found.broken_links == broken
    assert not found.is_other_key


def test_an_event_that_fits_and_cannot_be_decoded_is_told(store: Path) -> None:
    add_rows(store, [Row("test.odd", state=b"{")])
    (fault,) = verified(store).faults
    assert fault.position == EVENTS + 1
    assert "test.odd: the event cannot be read: JSONDecodeError" in fault.words


def test_a_text_that_is_none_is_told_and_the_walk_goes_on(store: Path) -> None:
    change(store, "UPDATE stored_events SET topic = CAST(x'ff' AS TEXT) WHERE rowid IN (2, 3)")
    found = verified(store)
    assert (found.events, found.last) == (EVENTS - 2, EVENTS)
    assert "damaged from event 2 to event 3" in found.faults[0].words


def test_another_key_fits_no_event(store: Path) -> None:
    found = verified(store, b"another key")
    assert found.is_other_key
    assert found.faults_found == EVENTS


def test_of_many_faults_the_first_ones_are_kept(tmp_path: Path) -> None:
    store = make_store(tmp_path / "events.db", numbered(3 * FAULTS_KEPT))
    change(store, "UPDATE stored_events SET topic = topic || '.' WHERE rowid > 1")
    found = verified(store)
    assert [fault.position for fault in found.faults] == list(range(2, FAULTS_KEPT + 2))
    assert found.faults_found == 3 * FAULTS_KEPT - 1


def test_no_store_and_an_empty_one_are_whole(tmp_path: Path) -> None:
    assert verified(tmp_path / "absent.db") == Verification()
    assert verified(make_store(tmp_path / "events.db")) == Verification()
