from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from eventsourcing.persistence import OperationalError
from workbench import FailingStore, Workbench, rows_of, spooled_file

from tokeneconomizer.scheduler import refused as refused_calls
from tokeneconomizer.scheduler import spool

if TYPE_CHECKING:
    from tokeneconomizer.scheduler.hook_calls import HookCall

DISK_FULL = OperationalError("database or disk is full")


def at(bench: Workbench, second: int) -> int:
    return bench.time_ns + second * 1_000_000_000


def spool_prompt(bench: Workbench, second: int, text: str = "") -> Path:
    payload = hooks.prompt(text or f"prompt {second}", prompt_id=f"prompt-{second}")
    return spooled_file(bench.home, payload, time_ns=at(bench, second))


def prompts(bench: Workbench) -> list[object]:
    rows = rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.prompt_id') FROM stored_events "
        "WHERE topic = 'session.prompt_submitted' ORDER BY rowid",
    )
    return [name for (name,) in rows]


def refused(bench: Workbench) -> list[str]:
    folder = bench.home.refused
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted(name for name in names if not name.startswith("."))


def test_calls_are_stored_in_the_order_of_their_time_with_the_time_of_their_hook(bench: Workbench) -> None:
    for second in (50, 6, 700):
        spool_prompt(bench, second)

    assert bench.spool.drain(bench.calls) == 3
    assert prompts(bench) == ["prompt-6", "prompt-50", "prompt-700"]
    (first,) = rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.timestamp') FROM stored_events LIMIT 1",
    )[0]
    assert str(first).startswith("2026-01-05T12:00:06")
    assert bench.spool.waiting() == []


def test_numbers_order_by_value_also_where_they_have_fewer_digits(bench: Workbench) -> None:
    late = spooled_file(bench.home, hooks.prompt("late", prompt_id="late"), time_ns=10**18)
    early = spooled_file(bench.home, hooks.prompt("early", prompt_id="early"), time_ns=9 * 10**17)

    assert bench.spool.waiting() == [early, late]


def test_an_empty_or_absent_spool_stores_nothing(bench: Workbench) -> None:
    empty = bench.spool.drain(bench.calls)
    bench.home.spool.rmdir()

    assert (empty, bench.spool.drain(bench.calls)) == (0, 0)


@pytest.mark.parametrize("ago_s", [0, 1, 60], ids=["just now", "a second ago", "a minute ago"])
def test_a_call_that_comes_after_the_spool_was_seen_empty_is_stored(bench: Workbench, ago_s: int) -> None:
    changed_ns = time.time_ns() - ago_s * 1_000_000_000
    os.utime(bench.home.spool, ns=(changed_ns, changed_ns))
    assert bench.spool.drain(bench.calls) == 0
    spool_prompt(bench, 1)
    if ago_s <= spool.UNSEEN_CHANGE_NS_MAX / 1_000_000_000:
        # A file system that notes times in steps shows the old one.
        os.utime(bench.home.spool, ns=(changed_ns, changed_ns))

    assert bench.spool.drain(bench.calls) == 1
    assert prompts(bench) == ["prompt-1"]


def test_the_timer_finds_a_call_also_where_the_folders_time_does_not_tell(bench: Workbench) -> None:
    os.utime(bench.home.spool, ns=(0, 0))
    assert bench.spool.drain(bench.calls) == 0
    spool_prompt(bench, 1)
    os.utime(bench.home.spool, ns=(0, 0))

    assert bench.spool.drain(bench.calls, by_names=True) == 1


def test_a_call_that_is_answered_already_is_stored_and_decides_nothing(bench: Workbench) -> None:
    for number in range(6):
        for part, payload in enumerate(hooks.failing_step(f"call-{number}")):
            spooled_file(bench.home, payload, time_ns=at(bench, 10 * number + part))
    bench.spool.drain(bench.calls)

    assert bench.topics().count("tool_returned") == 6
    assert not {"redirected", "stop_hinted"} & set(bench.topics())


def test_what_was_spooled_counts_for_the_next_live_call(bench: Workbench) -> None:
    for number in range(2):
        for part, payload in enumerate(hooks.failing_step(f"call-{number}")):
            spooled_file(bench.home, payload, time_ns=at(bench, 10 * number + part))
    bench.spool.drain(bench.calls)
    replies = [bench.call(payload, after_s=60).data for payload in hooks.failing_step("call-9")]

    assert replies[0] == b"{}"
    assert b"has failed 3 times" in replies[1]


def test_a_file_goes_only_after_its_events_are_saved_and_a_failing_store_leaves_the_rest(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (spool_prompt(bench, number) for number in (1, 2, 3))
    unlinked: list[str] = []
    unlink = Path.unlink

    def watched(path: Path, *, missing_ok: bool = False) -> None:
        unlinked.append(f"{path.name} after {len(prompts(bench))}")
        unlink(path, missing_ok=missing_ok)

    store = FailingStore(bench, monkeypatch, DISK_FULL)
    store.is_on = False
    store.fails_after = 1
    monkeypatch.setattr(Path, "unlink", watched)
    with pytest.raises(OperationalError):
        bench.spool.drain(bench.calls)
    left = bench.spool.waiting()
    store.is_on, store.fails_after = False, None
    stored = bench.spool.drain(bench.calls)

    assert left == [second, third]
    assert stored == 2
    assert unlinked == [f"{path.name} after {n}" for n, path in enumerate((first, second, third), start=1)]
    assert refused(bench) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b"TE1 spool - - - 1 0 0 0\n", b"TE2 spool claude_code - - 1 " + b"0" * 32 + b" 0 0\n"],
)
def test_a_file_that_cannot_be_read_is_set_aside_and_keeps_no_other_from_being_stored(
    bench: Workbench, content: bytes
) -> None:
    name = f"{at(bench, 1)}-4711-x"
    (bench.home.spool / name).write_bytes(content)
    spool_prompt(bench, 2)

    assert bench.spool.drain(bench.calls) == 1
    assert bench.spool.waiting() == []
    assert refused(bench) == [name]
    assert bench.warnings() == ["spooled call cannot be read"]


def test_a_file_that_the_system_does_not_let_us_read_is_set_aside(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = spool_prompt(bench, 1)
    spool_prompt(bench, 2)
    read = Path.read_bytes

    def read_or_refuse(path: Path) -> bytes:
        if path == locked:
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_or_refuse)

    assert bench.spool.drain(bench.calls) == 1
    assert refused(bench) == [locked.name]


def test_a_cut_file_is_set_aside(bench: Workbench) -> None:
    path = spool_prompt(bench, 1)
    path.write_bytes(path.read_bytes()[:-1])

    assert bench.spool.drain(bench.calls) == 0
    assert refused(bench) == [path.name]


def test_a_call_that_our_code_cannot_take_is_set_aside(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = spool_prompt(bench, 1, "the odd one")
    spool_prompt(bench, 2)
    answer = bench.calls.answer

    def answer_or_stumble(call: HookCall) -> object:
        if b"the odd one" in call.payload:
            raise RuntimeError
        return answer(call)

    monkeypatch.setattr(bench.calls, "answer", answer_or_stumble)

    assert bench.spool.drain(bench.calls) == 1
    assert refused(bench) == [broken.name]
    assert prompts(bench) == ["prompt-2"]


def test_a_payload_that_is_none_is_dropped_as_it_would_be_live(bench: Workbench) -> None:
    spooled_file(bench.home, b"no json", time_ns=at(bench, 1))

    assert bench.spool.drain(bench.calls) == 1
    assert refused(bench) == []
    assert bench.warnings() == ["payload dropped"]


def test_of_the_files_set_aside_the_newest_are_kept(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_calls, "KEPT_MAX", 3)
    names = [f"{second}-4711-x" for second in (8, 9, 10, 11, 100)]
    for name in names:
        (bench.home.spool / name).write_bytes(b"garbage")
    bench.spool.drain(bench.calls)

    assert refused(bench) == sorted(names[2:])


def test_what_was_set_aside_is_tried_again_once_by_each_version(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.spool.try_refused_again("1.0")
    spool_prompt(bench, 1)
    garbage = bench.home.spool / "5-4711-x"
    garbage.write_bytes(b"garbage")
    answer = bench.calls.answer

    def stumble(_call: HookCall) -> object:
        raise RuntimeError

    monkeypatch.setattr(bench.calls, "answer", stumble)
    for version in ("1.0", "1.1"):
        bench.spool.drain(bench.calls)
        assert len(refused(bench)) == 2
        bench.spool.try_refused_again(version)
        assert (refused(bench), len(bench.spool.waiting())) == ([], 2)
        bench.spool.drain(bench.calls)
        bench.spool.try_refused_again(version)
        assert (len(refused(bench)), bench.spool.waiting()) == (2, [])

    monkeypatch.setattr(bench.calls, "answer", answer)
    bench.spool.try_refused_again("1.2")
    assert bench.spool.drain(bench.calls) == 1
    assert prompts(bench) == ["prompt-1"]
    assert refused(bench) == [garbage.name]


def test_where_they_cannot_be_moved_the_daemon_goes_on(bench: Workbench) -> None:
    bench.home.refused.write_text("a file where a folder should be")
    bench.spool.try_refused_again("1.0")

    assert bench.warnings() == ["refused calls cannot be tried again"]


def test_unfinished_files_and_what_is_no_file_are_left_alone(bench: Workbench) -> None:
    unfinished = bench.home.spool / f".{at(bench, 1)}-4711-x.tmp"
    unfinished.write_bytes(b"half a")
    (bench.home.spool / "folder").mkdir()
    (bench.home.spool / "loop").symlink_to("loop")
    (bench.home.spool / "link").symlink_to("/dev/zero")

    assert bench.spool.waiting() == []
    assert bench.spool.drain(bench.calls) == 0
    assert unfinished.read_bytes() == b"half a"


@pytest.mark.parametrize("live_first", [True, False])
def test_a_call_that_was_answered_live_and_spooled_as_well_is_stored_once(
    bench: Workbench, *, live_first: bool
) -> None:
    delivery_id = "0123456789abcdef" * 2
    payload = hooks.prompt("go on")
    spooled_file(bench.home, payload, time_ns=at(bench, 1), delivery_id=delivery_id)
    if not live_first:
        bench.spool.drain(bench.calls)
    bench.call(payload, delivery_id=delivery_id, after_s=600)
    bench.spool.drain(bench.calls)

    assert prompts(bench) == ["prompt-1"]
    assert bench.spool.waiting() == []
