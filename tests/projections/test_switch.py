import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import stores
from stores import Row, Tally, add_rows, make_store, numbered, seen

from tokeneconomizer.domain.errors import StoreDamaged
from tokeneconomizer.projections.errors import RebuildRunning, ViewUnusable
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.event_rows import FoldedRow
from tokeneconomizer.projections.switch import current, is_superseded, open_view, rebuild, verify

EVENTS = 10
POISONED = 5
TAKEN = [n for n in range(1, EVENTS + 1) if n != POISONED]


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(make_store(tmp_path / "events.db", numbered(EVENTS, poisoned=[POISONED])))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "views"
    folder.mkdir()
    return folder


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if not file.name.endswith((".lock", "-wal", "-shm")))


def fold(log: EventLog, folder: Path, tally: Tally) -> None:
    with open_view(folder, tally) as view:
        view.catch_up(log)


def test_the_first_view_is_made_when_it_is_opened(log: EventLog, folder: Path) -> None:
    assert current(folder, Tally()) is None
    fold(log, folder, Tally())
    assert names(folder) == ["tally.1.db", "tally.current"]
    assert (folder / "tally.current").stat().st_mode & 0o777 == 0o600
    assert current(folder, Tally()) == folder / "tally.1.db"


def test_a_view_of_another_schema_answers_until_its_rebuild_is_through(log: EventLog, folder: Path) -> None:
    fold(log, folder, Tally())
    newer = Tally(SCHEMA=2)
    with open_view(folder, newer) as old:
        assert old.is_outdated
        assert seen(old.connection()) == TAKEN

        def ask_meanwhile(row: FoldedRow) -> None:
            with open_view(folder, newer) as answering:
                assert answering.path.name == "tally.1.db"
                assert row.position <= answering.position()

        assert rebuild(log, folder, Tally(SCHEMA=2, before_row=ask_meanwhile)) == folder / "tally.2-2.db"
        assert is_superseded(old)
        assert seen(old.connection()) == TAKEN
    with open_view(folder, newer) as view:
        assert not view.is_outdated
        assert not is_superseded(view)
        assert seen(view.connection()) == TAKEN
        assert [aside.position for aside in view.set_aside()] == [POISONED]
    assert names(folder) == ["tally.2-2.db", "tally.current"]


def test_a_rebuild_of_the_same_schema_takes_the_place_of_the_old_file(log: EventLog, folder: Path) -> None:
    fold(log, folder, Tally())
    told: list[int] = []
    rebuild(log, folder, Tally(), told.append)
    assert told == [EVENTS]
    rebuild(log, folder, Tally())
    assert names(folder) == ["tally.1-3.db", "tally.current"]


def test_a_rebuild_needs_no_earlier_view(log: EventLog, folder: Path) -> None:
    rebuild(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        assert seen(view.connection()) == TAKEN


def test_a_rebuilt_view_is_like_one_that_was_made_empty(log: EventLog, folder: Path) -> None:
    def look() -> tuple[object, ...]:
        with open_view(folder, Tally()) as view:
            connection = view.connection()
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
            schema = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
            return mode, view.schema, [tuple(row) for row in schema]

    fold(log, folder, Tally())
    before = look()
    rebuild(log, folder, Tally())
    assert look() == before
    assert before[0] == "wal"


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_rebuild_mends_a_damaged_view(log: EventLog, folder: Path, suffix: str) -> None:
    fold(log, folder, Tally())
    (folder / f"tally.1.db{suffix}").write_bytes(b"no database" * 1000)
    rebuild(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        assert seen(view.connection()) == TAKEN


def test_who_still_folds_the_old_file_does_no_harm(log: EventLog, folder: Path) -> None:
    with open_view(folder, Tally()) as old:
        old.catch_up(log, max_batches=1, batch=2)
        rebuild(log, folder, Tally())
        old.catch_up(log)
        assert seen(old.connection()) == TAKEN
    with open_view(folder, Tally()) as view:
        assert seen(view.connection()) == TAKEN


def test_other_projections_files_are_left_alone(log: EventLog, folder: Path) -> None:
    for name in ("tally_2", "x"):
        fold(log, folder, Tally(NAME=name))
    fold(log, folder, Tally())
    rebuild(log, folder, Tally())
    assert names(folder) == [
        "tally.1-2.db",
        "tally.current",
        "tally_2.1.db",
        "tally_2.current",
        "x.1.db",
        "x.current",
    ]


@pytest.mark.parametrize("content", ["", "../../etc/passwd", "audit.1.db", "tally.9.db", b"\xff\xff"])
def test_a_pointer_that_names_no_view_is_as_good_as_none(
    log: EventLog, folder: Path, content: str | bytes
) -> None:
    (folder / "tally.current").write_bytes(content.encode() if isinstance(content, str) else content)
    fold(log, folder, Tally())
    assert current(folder, Tally()) == folder / "tally.1.db"


def test_a_file_that_the_user_deleted_is_made_again(log: EventLog, folder: Path) -> None:
    rebuild(log, folder, Tally())
    (folder / "tally.1-2.db").unlink()
    fold(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        assert seen(view.connection()) == TAKEN


def test_two_rebuilds_at_once_are_refused(log: EventLog, folder: Path) -> None:
    with (folder / "tally.rebuild.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for start in (rebuild, verify):
            with pytest.raises(RebuildRunning, match="wait"):
                start(log, folder, Tally())
    rebuild(log, folder, Tally())


def test_a_rebuild_from_a_damaged_store_leaves_the_old_view(log: EventLog, folder: Path) -> None:
    add_rows(log.path, [Row("test.numbered", {"filler": "x" * 300}) for _ in range(200)])
    fold(log, folder, Tally())
    log.close()
    os.truncate(log.path, log.path.stat().st_size // 2)
    with pytest.raises(StoreDamaged):
        rebuild(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        assert view.path.name == "tally.1.db"
        assert len(seen(view.connection())) == len(TAKEN) + 200


def test_a_folder_that_is_not_there_is_told(log: EventLog, tmp_path: Path) -> None:
    for start in (rebuild, verify):
        with pytest.raises(ViewUnusable, match="cannot be used"):
            start(log, tmp_path / "absent", Tally())
    with pytest.raises(ViewUnusable, match="cannot be used"):
        open_view(tmp_path / "absent", Tally())


KILLED_REBUILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stores import Tally
from tokeneconomizer.projections import switch, view
from tokeneconomizer.projections.event_log import EventLog

calls = int(sys.argv[4])

def mortal(step):
    def run(*arguments, **options):
        global calls
        calls -= 1
        if calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **options)
    return run

for module, name in ((os, "fsync"), (os, "open"), (os, "link"), (Path, "replace"), (Path, "unlink")):
    setattr(module, name, mortal(getattr(module, name)))
switch.rebuild(EventLog(Path(sys.argv[2])), Path(sys.argv[3]), Tally(before_row=mortal(lambda row: None)))
"""


def test_a_rebuild_killed_at_any_step_leaves_a_view_that_answers(log: EventLog, folder: Path) -> None:
    support = str(Path(stores.__file__).parent)
    fold(log, folder, Tally())
    for step in range(0, 200, 5):
        arguments = [sys.executable, "-c", KILLED_REBUILD, support, str(log.path), str(folder), str(step)]
        ended = subprocess.run(arguments, check=False)
        with open_view(folder, Tally()) as view:
            assert seen(view.connection()) == TAKEN
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
    assert step > 20
    assert len(names(folder)) == 2


def test_a_rebuild_of_an_unchanged_schema_gives_the_same_rows(log: EventLog, folder: Path) -> None:
    fold(log, folder, Tally())
    add_rows(log.path, numbered(3))
    result = verify(log, folder, Tally())
    assert result.is_equal
    assert result.position == EVENTS + 3
    assert names(folder) == ["tally.1.db", "tally.current"]


def test_events_that_come_while_a_view_is_verified_make_no_difference(log: EventLog, folder: Path) -> None:
    def go_on(position: int) -> None:
        if position == EVENTS:
            add_rows(log.path, numbered(2))
            fold(EventLog(log.path), folder, Tally())

    result = verify(log, folder, Tally(), go_on)
    assert result.is_equal
    assert result.position == EVENTS + 2


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM seen WHERE position = 3",
        "INSERT INTO seen VALUES (3, 'test.numbered')",
        "UPDATE seen SET topic = 'test.other' WHERE position = 3",
        "UPDATE seen SET position = '3x' WHERE position = 3",
        "DELETE FROM set_aside",
        "CREATE TABLE more (x)",
    ],
)
def test_any_row_that_differs_is_found(log: EventLog, folder: Path, change: str) -> None:
    fold(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        view.connection().execute(change)
    result = verify(log, folder, Tally())
    assert not result.is_equal
    assert result.checksum == verify(log, folder, Tally()).checksum


def test_the_order_of_rows_in_the_file_makes_no_difference(log: EventLog, folder: Path) -> None:
    fold(log, folder, Tally())
    with open_view(folder, Tally()) as view:
        view.connection().execute("UPDATE seen SET rowid = 1000 - rowid")
    assert verify(log, folder, Tally()).is_equal


def test_a_view_of_another_schema_is_not_verified(log: EventLog, folder: Path) -> None:
    fold(log, folder, Tally())
    with pytest.raises(ViewUnusable, match="another schema"):
        verify(log, folder, Tally(SCHEMA=2))
