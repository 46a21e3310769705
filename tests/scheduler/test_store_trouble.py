"""A store that begins to fail while the daemon runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from eventsourcing.persistence import DatabaseError, IntegrityError, OperationalError, PersistenceError
from workbench import Workbench, spooled_file

from tokeneconomizer.domain.errors import StoreDamaged, StoreTooNew
from tokeneconomizer.domain.guard.limits import FAILED_REPEATS
from tokeneconomizer.scheduler import recorders
from tokeneconomizer.scheduler.store_guard import refuse_damaged, trouble_with
from tokeneconomizer.scheduler.store_trouble import (
    PAUSE_S,
    TOLD_EVERY_S,
    StoreFailing,
    StoreTrouble,
    WatchedCalls,
    is_of_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable

AT_NS = 1_767_614_400_000_000_000


def sqlite_error(code: int, words: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(words)
    error.sqlite_errorcode = code
    return error


def as_library(error: Exception) -> DatabaseError:
    """Raise it as the store does."""
    wrapped = DatabaseError(error)
    wrapped.__cause__ = error
    return wrapped


MALFORMED = sqlite_error(sqlite3.SQLITE_CORRUPT, "database disk image is malformed")
MALFORMED_INDEX = sqlite_error(sqlite3.SQLITE_CORRUPT_INDEX, "database disk image is malformed")


class Watched:
    """A workbench whose calls are watched, with a clock of the test's."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.seconds = 0.0
        self.ended = 0
        self.trouble = StoreTrouble(bench.home, bench.log, self.end, lambda: self.seconds)
        bench.calls = WatchedCalls(bench.application, bench.log, lambda: bench.at, self.trouble)

    def end(self) -> None:
        self.ended += 1

    def errors(self) -> list[str]:
        return [str(entry["event"]) for entry in self.bench.captured.entries if entry["log_level"] == "error"]


class Fails:
    """Lets the store fail, and counts how often it was asked."""

    def __init__(self, bench: Workbench, patch: pytest.MonkeyPatch, error: Exception) -> None:
        self.asked = 0

        def insert(*_: object, **__: object) -> object:
            self.asked += 1
            raise error

        patch.setattr(bench.store.recorder, "insert_events", insert)


@pytest.fixture
def watched(bench: Workbench) -> Watched:
    return Watched(bench)


@pytest.mark.parametrize("error", [MALFORMED, MALFORMED_INDEX, as_library(MALFORMED), StoreDamaged("cut")])
def test_a_damage_ends_the_daemon_and_leaves_a_mark(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    bench = watched.bench
    bench.call(hooks.prompt("go on"))
    before = bench.topics()
    with monkeypatch.context() as patch:
        Fails(bench, patch, error)
        for _ in range(3):
            with pytest.raises((StoreFailing, StoreDamaged)):
                bench.call(hooks.prompt("go on", prompt_id="prompt-2"))
            if isinstance(error, StoreDamaged):
                watched.trouble.met(error)
    # No call gets through any more, though the store would take it.
    with pytest.raises(StoreFailing):
        bench.call(hooks.prompt("go on", prompt_id="prompt-3"))
    assert bench.topics() == before
    assert watched.ended == 1
    assert watched.errors() == ["store damaged, the daemon ends"]
    assert "mv " in trouble_with(bench.home)


def test_a_failing_store_is_told_once_in_a_while_and_not_asked_again_at_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = watched.bench
    with monkeypatch.context() as patch:
        failing = Fails(bench, patch, OperationalError("database is locked"))
        for second in range(int(TOLD_EVERY_S) + 2):
            watched.seconds = second
            with pytest.raises(StoreFailing):
                bench.call(hooks.prompt("go on"), after_s=0)
    assert watched.errors() == ["store fails, hook calls wait in the spool"] * 2
    assert failing.asked == -(-(int(TOLD_EVERY_S) + 2) // int(PAUSE_S))
    assert "database is locked" in watched.trouble.problem
    watched.seconds += PAUSE_S
    bench.call(hooks.prompt("go on"))
    assert watched.trouble.problem == ""
    assert watched.ended == 0
    assert bench.captured.entries[-1]["event"] == "store works again"


def test_a_store_that_another_program_holds_is_such_a_trouble(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.store.close()
    monkeypatch.setattr(recorders, "LOCK_TIMEOUT_S", 0)
    with Workbench(bench.home) as again:
        watched = Watched(again)
        again.call(hooks.prompt("go on"))
        with closing(sqlite3.connect(bench.home.events, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreFailing):
                again.call(hooks.prompt("go on", prompt_id="prompt-2"))
            assert "locked" in watched.trouble.problem
            holder.execute("ROLLBACK")
        watched.seconds += PAUSE_S
        again.call(hooks.prompt("go on", prompt_id="prompt-2"))
        assert watched.trouble.problem == ""
        assert not trouble_with(bench.home)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OperationalError("locked"), True),
        (sqlite3.OperationalError("disk I/O error"), True),
        (MALFORMED, True),
        (as_library(MALFORMED), True),
        (StoreDamaged("cut"), True),
        (IntegrityError("a stale version"), False),
        (PersistenceError("unheard of"), False),
        (StoreTooNew("newer"), False),
        (ValueError("a bad event"), False),
    ],
)
def test_only_what_concerns_the_whole_store_counts(error: Exception, *, expected: bool) -> None:
    assert is_of_store(error) is expected


def test_a_conflict_in_one_stream_is_no_trouble_of_the_store(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Fails(watched.bench, patch, IntegrityError("a stale version"))
        with pytest.raises(IntegrityError):
            watched.bench.call(hooks.prompt("go on"))
    assert watched.trouble.problem == ""
    watched.bench.call(hooks.prompt("go on"))


def test_spooled_calls_stay_while_the_store_fails(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = watched.bench
    spooled_file(bench.home, hooks.prompt("go on"), time_ns=AT_NS)
    with monkeypatch.context() as patch:
        Fails(bench, patch, OperationalError("database is locked"))
        for _ in range(2):
            with pytest.raises(StoreFailing):
                bench.spool.drain(bench.calls)
    assert len(bench.spool.waiting()) == 1
    watched.seconds += PAUSE_S
    assert bench.spool.drain(bench.calls) == 1


def test_what_cannot_be_taken_back_stays_as_said(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = watched.bench
    bench.call(hooks.prompt("go on"))
    steps = [hooks.failing_step(f"call-{number}") for number in range(FAILED_REPEATS)]
    replies = [bench.call(payload) for step in steps for payload in step]
    (reply,) = [reply for reply in replies if reply.said]
    with monkeypatch.context() as patch:
        Fails(bench, patch, OperationalError("database is locked"))
        bench.calls.not_delivered(reply, "gone")
    assert "locked" in watched.trouble.problem


def restored(bench: Workbench) -> None:
    backup = bench.home.events.with_name("backup")
    backup.replace(bench.home.events)


def moved_aside(bench: Workbench) -> None:
    for path in bench.home.root.glob("events.db*"):
        path.rename(bench.home.root / f"aside-{path.name}")


def removed(bench: Workbench) -> None:
    bench.home.events.unlink()


@pytest.mark.parametrize("mend", [restored, moved_aside, removed])
def test_the_mark_is_lifted_when_the_store_is_another_one(
    bench: Workbench, mend: Callable[[Workbench], None]
) -> None:
    watched = Watched(bench)
    bench.call(hooks.prompt("go on"))
    bench.store.close()
    bench.home.events.with_name("backup").write_bytes(bench.home.events.read_bytes())
    watched.trouble.met(MALFORMED)
    with pytest.raises(StoreDamaged, match="malformed"):
        refuse_damaged(bench.home)
    mend(bench)
    refuse_damaged(bench.home)
    assert not trouble_with(bench.home)


def test_the_same_file_written_to_is_refused_while_it_is_damaged(
    bench: Workbench,
) -> None:
    watched = Watched(bench)
    bench.call(hooks.prompt("go on"))
    bench.store.close()
    watched.trouble.met(MALFORMED)
    content = bytearray(bench.home.events.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    bench.home.events.write_bytes(content)
    for _ in range(2):
        with pytest.raises(StoreDamaged):
            refuse_damaged(bench.home)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"words": "w"}', "\udcff"])
def test_a_mark_that_cannot_be_read_has_the_store_looked_at(bench: Workbench, content: str) -> None:
    bench.call(hooks.prompt("go on"))
    mark = bench.home.events.with_name("events.db.damaged")
    mark.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert trouble_with(bench.home)
    refuse_damaged(bench.home)
    assert not mark.exists()
