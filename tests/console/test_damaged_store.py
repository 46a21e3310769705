"""Stores that were damaged in one of many ways: noticed, told with what to do, never made worse."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import hook_payloads as hooks
import pytest
from console_runs import keep, te
from daemon_runs import call, output_of, running, start
from sessions import Telling, edit, shell

from tokeneconomizer.projections import event_log
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.scheduler.home import Home

PAGE_BYTES = 4096
HEADER_BYTES = 100


def telling() -> Telling:
    telling = Telling()
    telling.start()
    for turn in range(12):
        telling.prompt()
        telling.step(edit(f"a{turn}.py", "x"))
        telling.step(shell("make test", "ok"))
        telling.stop()
    return telling


@pytest.fixture
def kept(home: Home) -> Home:
    """Give a home with a store of some dozen pages, and views that know it."""
    keep(home, telling())
    assert te("status").status == 0
    assert len(exported()) > 50
    for suffix in ("-wal", "-shm"):
        home.events.with_name(f"events.db{suffix}").unlink(missing_ok=True)
    return home


def exported() -> list[dict[str, Any]]:
    return [json.loads(line) for line in te("audit", "export").out.splitlines()]


def root_page(home: Home, name: str) -> int:
    with closing(sqlite3.connect(home.events)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,))
        return int(found.fetchone()[0])


def overwrite(home: Home, offset: int, content: bytes) -> None:
    with home.events.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def cut_short(home: Home) -> None:
    os.truncate(home.events, home.events.stat().st_size // 2)


def emptied(home: Home) -> None:
    os.truncate(home.events, 0)


def header_overwritten(home: Home) -> None:
    overwrite(home, 0, b"\xff" * HEADER_BYTES)


def page_size_flipped(home: Home) -> None:
    overwrite(home, 16, b"\x11\x11")


def no_database(home: Home) -> None:
    home.events.write_bytes(b"no database" * 1000)


def of_another_program(home: Home) -> None:
    home.events.unlink()
    with closing(sqlite3.connect(home.events)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def event_page_overwritten(home: Home) -> None:
    """Damage a page in the middle of the table of events."""
    content = home.events.read_bytes()
    page = content.index(b'"prompt-22"') // PAGE_BYTES
    overwrite(home, page * PAGE_BYTES, b"\xff" * 64)


def index_page_overwritten(home: Home) -> None:
    page = root_page(home, "sqlite_autoindex_stored_events_1")
    overwrite(home, (page - 1) * PAGE_BYTES, b"\xff" * 64)


def bit_flipped(home: Home) -> None:
    """Change one letter of one event, which SQLite cannot notice."""
    content = home.events.read_bytes()
    overwrite(home, content.index(b'"prompt-22"') + 1, b"P")


CANNOT_BE_OPENED = [
    cut_short,
    emptied,
    header_overwritten,
    page_size_flipped,
    no_database,
    of_another_program,
]
CAN_BE_OPENED = [event_page_overwritten, index_page_overwritten]


def state_of(home: Home) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(home.root.glob("events.db"))]


def store_findings() -> list[dict[str, str]]:
    findings: list[dict[str, str]] = json.loads(te("doctor", "--json").out)
    return [finding for finding in findings if finding["check"] == "store" and finding["level"] == "problem"]


@pytest.mark.parametrize("damage", CANNOT_BE_OPENED)
def test_no_daemon_writes_to_a_store_that_cannot_be_opened(
    kept: Home, damage: Callable[[Home], None]
) -> None:
    damage(kept)
    before = state_of(kept)
    for _ in range(2):
        daemon = start(kept)
        output_of(daemon)
        assert daemon.returncode == 1
    assert state_of(kept) == before
    entries = [json.loads(line) for line in kept.log.read_text().splitlines()]
    assert {entry["event"] for entry in entries} == {"daemon failed"}
    assert all(str(kept.events) in entry["reason"] for entry in entries)
    assert str(kept.events) in te("config", "set", "lang", "zh").err
    assert state_of(kept) == before


@pytest.mark.parametrize("damage", [*CANNOT_BE_OPENED, *CAN_BE_OPENED])
def test_a_damage_is_told_by_every_command_that_meets_it(kept: Home, damage: Callable[[Home], None]) -> None:
    whole = exported()
    damage(kept)
    before = state_of(kept)
    (finding,) = store_findings()
    assert "mv " in finding["advice"]
    done = te("audit", "verify")
    assert done.status == 1
    assert "Traceback" not in done.out + done.err
    export = te("audit", "export")
    lines = [json.loads(line) for line in export.out.splitlines()]
    assert [line for line in lines if line not in whole] == []
    listed = te("audit", "list", "--limit", "1000")
    shown = te("audit", "show", "3")
    status = te("status")
    assert status.status == 0
    for run in (export, listed, shown, status):
        assert run.status in {0, 1}
        assert "Traceback" not in run.err
    assert state_of(kept) == before


@pytest.mark.parametrize("damage", CANNOT_BE_OPENED)
def test_status_tells_that_the_store_cannot_be_opened(kept: Home, damage: Callable[[Home], None]) -> None:
    damage(kept)
    known = json.loads(te("status", "--json").out)
    assert any(str(kept.events) in trouble for trouble in known["troubles"])
    export = te("audit", "export")
    assert export.status == 1
    assert str(kept.events) in export.err


def test_what_is_left_of_a_store_that_was_cut_short_is_printed_and_listed(kept: Home) -> None:
    whole = exported()
    cut_short(kept)
    left = exported()
    assert [event for event in whole if event in left] == left
    assert len(left) > 5
    listed = te("audit", "list", "--limit", "1000")
    assert listed.status == 1
    assert len(listed.out.splitlines()) == len(whole) + 1


def test_all_but_a_damaged_page_is_printed_and_the_place_is_told(kept: Home) -> None:
    whole = exported()
    event_page_overwritten(kept)
    done = te("audit", "export")
    assert done.status == 1
    left = [json.loads(line) for line in done.out.splitlines()]
    assert len(whole) - 20 < len(left) < len(whole)
    assert (left[0], left[-1]) == (whole[0], whole[-1])
    first_lost = next(event["position"] for event in whole if event not in left)
    verified = te("audit", "verify")
    assert f"damaged from event {first_lost} on" in verified.err
    assert "move it aside" in verified.err


def test_a_damaged_index_hides_no_event(kept: Home) -> None:
    whole = exported()
    index_page_overwritten(kept)
    assert exported() == whole
    assert te("audit", "list").status == 0
    found = json.loads(te("audit", "verify", "--json").out)
    assert (found["faults"], found["events"]) == ([], len(whole))
    assert found["file_faults"]


def test_a_changed_letter_is_found_by_the_chain_alone(kept: Home) -> None:
    bit_flipped(kept)
    (changed,) = [event["position"] for event in exported() if "Prompt-22" in json.dumps(event)]
    assert store_findings() == []
    done = te("audit", "verify", "--json")
    found = json.loads(done.out)
    assert done.status == 1
    assert [fault["position"] for fault in found["faults"]] == [changed]
    assert f"was changed from event {changed} on by something other than this program" in done.err


def test_a_whole_store_is_verified_with_its_rate(kept: Home) -> None:
    done = te("audit", "verify")
    assert (done.status, done.err) == (0, "")
    rows = dict(re.split(r"  +", line) for line in done.out.splitlines())
    assert rows["events verified"] == rows["newest event"] == str(len(exported()))
    assert rows["faults"] == "0"
    assert json.loads(te("audit", "verify", "--json").out)["is_whole"]
    assert kept.events.exists()


def test_another_secret_is_told_as_such(kept: Home) -> None:
    (kept.root / "key").write_bytes(b"x" * 32)
    assert "no event fits the secret" in te("audit", "verify").err
    (kept.root / "key").unlink()
    done = te("audit", "verify")
    assert done.status == 1
    assert "is missing" in done.err
    assert not (kept.root / "key").exists()


@pytest.mark.usefixtures("home")
def test_a_home_without_events_has_nothing_to_verify() -> None:
    done = te("audit", "verify")
    assert (done.status, done.out, done.err) == (0, "", "no event is stored yet\n")


@contextmanager
def held_by_another_program(home: Home) -> Iterator[None]:
    with closing(sqlite3.connect(home.events)) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        yield


def test_a_locked_store_is_told_as_locked(kept: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "LOCK_TIMEOUT_S", 0)
    with held_by_another_program(kept):
        for arguments in (
            ("audit", "verify"),
            ("audit", "export"),
            ("audit", "list"),
            ("audit", "show", "1"),
        ):
            done = te(*arguments)
            assert done.status == 1
            assert "no other program holds it" in done.err
        assert "no other program holds it" in te("status").out
        (finding,) = store_findings()
        assert "no other program holds it" in finding["words"]
    assert te("audit", "verify").status == 0


def advised() -> str:
    """Return the commands that `te doctor` names."""
    (finding,) = store_findings()
    found = re.search(r"`(te daemon stop; [^`]+)`", finding["advice"])
    assert found is not None
    return found[1].removeprefix("te daemon stop; ")


@pytest.mark.parametrize("damage", [*CANNOT_BE_OPENED, *CAN_BE_OPENED])
def test_the_advised_commands_let_a_new_store_begin(kept: Home, damage: Callable[[Home], None]) -> None:
    damage(kept)
    damaged = kept.events.read_bytes()
    subprocess.run(["/bin/sh", "-c", advised()], check=True)
    (aside,) = kept.root.glob("damaged-*")
    assert (aside / "events.db").read_bytes() == damaged
    with running(kept):
        call(kept, hooks.prompt("go on"))
    assert [event["type"] for event in exported()] == ["session.started", "session.prompt_submitted"]
    assert store_findings() == []
    known = json.loads(te("status", "--json").out)
    assert (known["counts"]["prompts_human"], known["troubles"]) == (1, [])
    assert te("audit", "verify").status == 0


def test_a_backup_in_its_place_goes_on(kept: Home) -> None:
    backup = kept.root / "backup"
    shutil.copy(kept.events, backup)
    whole = exported()
    cut_short(kept)
    output_of(start(kept))
    shutil.copy(backup, kept.events)
    with running(kept):
        call(kept, hooks.prompt("go on", session_id="another"))
    stored = exported()
    assert stored[: len(whole)] == whole
    assert "another" in {event["data"].get("session_id") for event in stored[len(whole) :]}
    for projection in PROJECTIONS:
        assert te("rebuild", projection.NAME, "--verify").status == 0
