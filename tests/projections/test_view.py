import os
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import stores
from stores import Row, Tally, add_rows, all_rows, make_store, numbered, seen

from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections import stretch
from tokeneconomizer.projections import view as view_module
from tokeneconomizer.projections.errors import ViewUnusable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import EventHead, EventRow, FoldedRow, Unreadable
from tokeneconomizer.projections.event_rows import Row as RawRow
from tokeneconomizer.projections.view import ERROR_CHARACTERS_MAX, View, create_view

EVENTS = 10
POISONED = 5
TAKEN = [n for n in range(1, EVENTS + 1) if n != POISONED]


class KilledError(BaseException):
    """Stands for the end of the process: nothing that catches errors may catch it."""


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(make_store(tmp_path / "events.db", numbered(EVENTS, poisoned=[POISONED])))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tally.1.db"


def open_tally(path: Path, tally: Tally | None = None) -> View:
    tally = tally or Tally()
    create_view(path, tally)
    return View(path, tally)


def test_every_event_is_taken_once_and_in_order(log: EventLog, path: Path) -> None:
    with open_tally(path) as view:
        assert view.catch_up(log) == EVENTS
        assert seen(view.connection()) == TAKEN
        assert view.position() == EVENTS
        assert view.catch_up(log) == 0


def test_an_event_that_cannot_be_taken_is_set_aside_and_the_rest_goes_on(log: EventLog, path: Path) -> None:
    with open_tally(path) as view:
        view.catch_up(log)
        assert view.set_aside() == [(POISONED, "test.poison", "ValueError: cannot take this")]


def test_an_event_that_cannot_be_read_is_set_aside(log: EventLog, path: Path) -> None:
    add_rows(log.path, [Row("test.odd", state=b"{"), Row("test.numbered")])
    with open_tally(path) as view:
        assert view.catch_up(log) == EVENTS + 2
        assert seen(view.connection()) == [*TAKEN, EVENTS + 2]
        assert [(aside.position, aside.topic) for aside in view.set_aside()] == [
            (POISONED, "test.poison"),
            (EVENTS + 1, "test.odd"),
        ]


def test_the_words_of_an_error_are_bounded_and_can_be_stored(log: EventLog, path: Path) -> None:
    def fail(row: FoldedRow) -> None:
        raise KeyError("\ud800" * 10_000 + row.topic)

    with open_tally(path, Tally(before_row=fail)) as view:
        view.catch_up(log)
        assert {len(aside.error) for aside in view.set_aside()} == {ERROR_CHARACTERS_MAX}


def test_batches_are_counted_and_told(log: EventLog, path: Path) -> None:
    told: list[int] = []
    with open_tally(path) as view:
        assert view.catch_up(log, batch=3, max_batches=2, on_progress=told.append) == 6
        assert view.catch_up(log, batch=3, until=8, on_progress=told.append) == 2
        assert view.catch_up(log, batch=3, on_progress=told.append) == 2
        assert told == [3, 6, 8, 10]
        assert seen(view.connection()) == TAKEN


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_files_are_for_the_user_alone(log: EventLog, path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with open_tally(path) as view:
            view.catch_up(log)
            modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.glob("tally*")}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["tally.1.db", "tally.1.db-wal", "tally.1.db-shm"], 0o600)


def test_the_file_is_in_write_ahead_mode(path: Path) -> None:
    with open_tally(path) as view:
        pragmas = [
            view.connection().execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "user_version")
        ]
    assert pragmas == ["wal", 1, 1]


def test_making_a_view_that_is_there_changes_nothing(log: EventLog, path: Path) -> None:
    with open_tally(path) as view:
        view.catch_up(log)
        create_view(path, Tally())
        assert view.position() == EVENTS
    assert [file.name for file in path.parent.glob("*draft*")] == []


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_the_size_of_pages_changes_no_row(
    page: int, log: EventLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretch, "FOLD_PAGE_EVENTS", page)
    add_rows(log.path, [Row("test.odd", state=b"{"), Row("test.numbered")])
    with open_tally(path) as view:
        assert view.catch_up(log, batch=7) == EVENTS + 2
        assert seen(view.connection()) == [*TAKEN, EVENTS + 2]
        assert [aside.position for aside in view.set_aside()] == [POISONED, EVENTS + 1]


def test_what_is_read_before_a_damage_is_folded_and_then_it_is_told(
    log: EventLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretch, "FOLD_PAGE_EVENTS", 2)

    class CutShort(EventLog):
        def raw_page(self, after: int, limit: int) -> list[RawRow] | Unreadable:
            if after >= 4:
                message = "nothing behind event 4 can be read"
                raise StoreDamaged(message)
            return super().raw_page(after, limit)

    with open_tally(path) as view:
        with pytest.raises(StoreDamaged):
            view.catch_up(CutShort(log.path))
        assert seen(view.connection()) == [1, 2, 3, 4]
        assert view.position() == 4


def test_events_that_are_not_decoded_come_as_their_heads(log: EventLog, path: Path) -> None:
    kinds: list[tuple[str, type]] = []
    add_rows(log.path, [Row("test.odd", state=b"{")])
    tally = Tally(
        DECODED=frozenset({"test.poison"}), before_row=lambda row: kinds.append((row.topic, type(row)))
    )
    with open_tally(path, tally) as view:
        view.catch_up(log)
        assert seen(view.connection()) == [*TAKEN, EVENTS + 1]
    assert set(kinds) == {("test.numbered", EventHead), ("test.odd", EventHead), ("test.poison", EventRow)}


def test_a_view_of_another_schema_is_not_folded(log: EventLog, path: Path) -> None:
    open_tally(path).close()
    with View(path, Tally(SCHEMA=2)) as view:
        assert view.is_outdated
        assert view.catch_up(log) == 0


@pytest.mark.parametrize("batches", [1, 2, 3, 4])
def test_what_another_process_took_meanwhile_is_not_taken_again(
    log: EventLog, path: Path, batches: int
) -> None:
    with open_tally(path) as mine, View(path, Tally()) as other:

        class Interleaved(EventLog):
            def raw_page(self, after: int, limit: int) -> list[RawRow] | Unreadable:
                page = super().raw_page(after, limit)
                # The fold looks for something new before it takes the lock.
                if not mine.connection().in_transaction:
                    other.catch_up(log, batch=3, max_batches=batches)
                return page

        mine.catch_up(Interleaved(log.path), batch=4)
        assert seen(mine.connection()) == TAKEN
        assert len(mine.set_aside()) == 1
        assert mine.position() == EVENTS


def test_a_fold_that_the_surroundings_stop_is_tried_again_later(log: EventLog, path: Path) -> None:
    is_full = True

    def fill_disk(row: FoldedRow) -> None:
        if is_full and row.position == 4:
            message = "database or disk is full"
            raise sqlite3.OperationalError(message)

    with open_tally(path, Tally(before_row=fill_disk)) as view:
        with pytest.raises(ViewUnusable, match="disk has room"):
            view.catch_up(log, batch=2)
        assert view.position() == 2
        assert view.set_aside() == []
        is_full = False
        view.catch_up(log)
        assert seen(view.connection()) == TAKEN


def test_a_view_that_is_locked_too_long_is_told(
    log: EventLog, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_module, "LOCK_TIMEOUT_S", 0)
    with open_tally(path) as view, View(path, Tally()) as other:
        other.connection().execute("BEGIN IMMEDIATE")
        with pytest.raises(ViewUnusable, match="locked"):
            view.catch_up(log)
        other.connection().execute("ROLLBACK")
        assert view.catch_up(log) == EVENTS


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_file_that_is_no_view_is_told_with_what_to_do(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ViewUnusable, match="te rebuild tally"):
        View(path, Tally())


def test_a_view_begins_anew_when_the_store_was_replaced(log: EventLog, path: Path) -> None:
    with open_tally(path) as view:
        view.catch_up(log)
        log.close()
        make_store(log.path, [Row("test.other") for _ in range(EVENTS + 5)])
        view.catch_up(log)
        assert seen(view.connection()) == list(range(1, EVENTS + 6))
        assert view.set_aside() == []
        log.close()
        make_store(log.path, [])
        view.catch_up(log)
        assert view.position() == 0
        assert seen(view.connection()) == []


def test_a_view_keeps_its_rows_while_there_is_no_store(log: EventLog, path: Path) -> None:
    with open_tally(path) as view:
        view.catch_up(log)
        log.close()
        log.path.unlink()
        assert view.catch_up(log) == 0
        assert seen(view.connection()) == TAKEN


def test_a_fold_killed_at_any_statement_neither_repeats_nor_skips(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(sqlite3.Connection):
        left = -1
        dies_after_running = False

        def execute(self, *arguments: object) -> sqlite3.Cursor:
            if Dying.left == 0 and not Dying.dies_after_running:
                raise KilledError
            cursor = super().execute(*arguments)  # type: ignore[arg-type]
            if Dying.left == 0:
                # From here on not even a rollback is run.
                Dying.dies_after_running = False
                raise KilledError
            Dying.left -= 1
            return cursor

    deaths = 0
    for after_running in (False, True):
        for statement in range(1000):
            path = tmp_path / f"tally.{statement}-{after_running}.db"
            create_view(path, Tally())
            with monkeypatch.context() as patched:
                patched.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Dying))
                view = View(path, Tally())
            Dying.left, Dying.dies_after_running = statement, after_running
            try:
                view.catch_up(log, batch=4)
                break
            except KilledError:
                deaths += 1
            finally:
                Dying.left = -1
                view.close()
            with View(path, Tally()) as again:
                again.catch_up(log, batch=4)
                assert seen(again.connection()) == TAKEN
                assert [aside.position for aside in again.set_aside()] == [POISONED]
    assert deaths > 50


KILLED_FOLD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stores import Tally
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View

def before_row(row):
    if row.position == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

View(Path(sys.argv[3]), Tally(before_row=before_row)).catch_up(EventLog(Path(sys.argv[2])), batch=4)
"""


@pytest.mark.parametrize("position", [1, 4, 5, 7, 10])
def test_a_process_killed_in_a_batch_leaves_whole_batches(log: EventLog, path: Path, position: int) -> None:
    create_view(path, Tally())
    support = str(Path(stores.__file__).parent)
    arguments = [sys.executable, "-c", KILLED_FOLD, support, str(log.path), str(path), str(position)]
    killed = subprocess.run(arguments, check=False)
    assert killed.returncode == -signal.SIGKILL
    with open_tally(path) as view:
        assert view.position() == (position - 1) // 4 * 4
        view.catch_up(log)
        assert seen(view.connection()) == TAKEN
        assert [aside.position for aside in view.set_aside()] == [POISONED]


def test_the_size_of_batches_changes_no_row(log: EventLog, tmp_path: Path) -> None:
    results = []
    for batch in (1, 3, 1000):
        with open_tally(tmp_path / f"tally.{batch}.db") as view:
            view.catch_up(log, batch=batch)
            results.append(all_rows(view.connection()))
    assert results[0] == results[1] == results[2]
