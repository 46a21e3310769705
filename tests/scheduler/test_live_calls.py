"""Most calls are answered before they are stored; nothing but the agent's waiting is different (S2.3)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hook_payloads as hooks
import pytest
from eventsourcing.persistence import OperationalError
from hypothesis import given, settings
from hypothesis import strategies as st
from workbench import FailingStore, Workbench, rows_of, spooled_file

from tokeneconomizer.domain.guard.limits import GATE_CALLS
from tokeneconomizer.scheduler import application
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.hook_calls import HookCall, HookCalls
from tokeneconomizer.scheduler.refused import Refused
from tokeneconomizer.scheduler.store_trouble import StoreFailing, StoreTrouble, WatchedCalls

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.scheduler.hook_calls import HookReply

DISK_FULL = OperationalError("database or disk is full")
PROMPT = hooks.prompt("go on")


def call_of(bench: Workbench, payload: bytes, number: int) -> HookCall:
    time_ns = bench.time_ns + number * 10_000_000_000
    return HookCall("claude_code", "", "plugin", time_ns, f"{number:032x}", payload)


def answered(bench: Workbench, *payloads: bytes) -> list[HookReply]:
    """Live calls, each finished before the next one comes."""
    replies = []
    for number, payload in enumerate(payloads, start=1):
        replies.append(bench.live.answer(call_of(bench, payload, number)))
        bench.live.finish()
    return replies


def read(number: int) -> bytes:
    return hooks.step(
        hooks.tool_call(f"read-{number}", "Read", f"content {number}", file_path=f"{number}.py")
    )


def states(bench: Workbench) -> list[tuple[object, ...]]:
    return rows_of(
        bench.home.events,
        "SELECT originator_id, topic, CAST(state AS TEXT) FROM stored_events ORDER BY rowid",
    )


def kept(bench: Workbench) -> bytes:
    return bench.home.kept.read_bytes() if bench.home.kept.exists() else b""


@pytest.mark.parametrize(
    ("payload", "before"),
    [
        (PROMPT, []),
        (hooks.failed("call-1", "make"), [PROMPT]),
        (read(1), [PROMPT]),
        (hooks.payload("Stop"), [PROMPT, read(1)]),
        (hooks.payload("SessionEnd", reason="other"), [PROMPT]),
    ],
    ids=["a prompt", "a failure", "a step", "a stop", "an end"],
)
def test_a_call_to_which_nothing_can_be_said_is_answered_first_and_stored_then(
    bench: Workbench, payload: bytes, before: list[bytes]
) -> None:
    answered(bench, *before)
    already = bench.topics()
    reply = bench.live.answer(call_of(bench, payload, 9))

    assert (reply.data, bench.topics(), bool(kept(bench))) == (b"{}", already, True)
    assert bench.live.waiting() == 1
    bench.live.finish()
    assert bench.topics()[: len(already)] == already
    assert len(bench.topics()) > len(already)
    assert (kept(bench), bench.live.waiting()) == (b"", 0)
    assert bench.warnings() == []


@pytest.mark.parametrize(
    ("payload", "before"),
    [
        (hooks.payload("SessionStart", source="startup"), []),
        (read(1), []),
        (read(2), [PROMPT, hooks.payload("Stop")]),
        (hooks.failing_step("b")[1], [PROMPT, *hooks.failing_step("a"), hooks.failing_step("b")[0]]),
    ],
    ids=["a start", "a step of an unknown session", "a step after the turn", "a step that fails again"],
)
def test_a_call_to_which_something_may_be_said_is_stored_first(
    bench: Workbench, payload: bytes, before: list[bytes]
) -> None:
    answered(bench, *before)
    already = len(bench.topics())
    bench.live.answer(call_of(bench, payload, 9))

    assert len(bench.topics()) > already
    assert kept(bench) == b""


def test_what_was_foreseen_holds_until_the_sessions_next_event(bench: Workbench) -> None:
    answered(bench, PROMPT, read(1))
    # Whatever else comes to the session: a judge's verdict, a call from its log.
    stream_id = bench.calls.answer(call_of(bench, read(2), 7)).stream_id
    already = len(bench.topics())
    bench.live.answer(call_of(bench, read(3), 8))

    assert stream_id is not None
    assert len(bench.topics()) > already


def test_a_long_turn_is_answered_first_past_its_gate_as_well(bench: Workbench) -> None:
    answered(bench, PROMPT, *(read(number) for number in range(GATE_CALLS + 1)))
    assert "gate_fired" in bench.topics()
    already = bench.topics()
    bench.live.answer(call_of(bench, read(99), 99))

    assert bench.topics() == already


def test_more_sessions_than_are_remembered_are_answered_as_well(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "QUIET_KEPT", 2)
    for session in range(4):
        one = [payload.replace(b"session-1", b"session-%d" % session) for payload in (PROMPT, read(session))]
        for number, payload in enumerate(one):
            bench.live.answer(call_of(bench, payload, session * 10 + number))
            bench.live.finish()

    assert bench.topics().count("tool_returned") == 4


def test_a_payload_that_is_none_is_answered_and_told_once(bench: Workbench) -> None:
    assert answered(bench, b"no JSON")[0].data == b"{}"
    assert bench.warnings() == ["payload dropped"]


work = st.sampled_from(["read", "read again", "fail", "fail otherwise", "stop", "prompt", "start", "end"])


def payloads_of(things: list[str]) -> list[bytes]:
    payloads = [PROMPT]
    for number, thing in enumerate(things):
        match thing:
            case "read":
                payloads.append(read(number))
            case "read again":
                payloads.append(read(0).replace(b"read-0", b"again-%d" % number))
            case "fail":
                payloads += hooks.failing_step(f"call-{number}")
            case "fail otherwise":
                payloads += hooks.failing_step(f"call-{number}", f"make {number % 2}")
            case "prompt":
                payloads.append(hooks.prompt(f"prompt {number}", prompt_id=f"prompt-{number}"))
            case "stop":
                payloads.append(hooks.payload("Stop"))
            case "start":
                payloads.append(hooks.payload("SessionStart", source="resume"))
            case _:
                payloads.append(hooks.payload("SessionEnd", reason="other"))
    return payloads


@given(st.lists(work, max_size=25))
@settings(deadline=None, max_examples=40)
def test_replies_and_events_are_those_of_calls_that_are_stored_first(
    tmp_path_factory: pytest.TempPathFactory, things: list[str]
) -> None:
    payloads = payloads_of(things)
    folder = tmp_path_factory.mktemp("homes")
    with Workbench(Home(folder / "one")) as one, Workbench(Home(folder / "other")) as other:
        # The same secret, so that hashes are comparable.
        other.home.root.joinpath("key").write_bytes(one.home.key())
    with Workbench(Home(folder / "one")) as one, Workbench(Home(folder / "other")) as other:
        replies = answered(one, *payloads)
        wanted = [other.calls.answer(call_of(other, data, n)) for n, data in enumerate(payloads, start=1)]
        assert [reply.data for reply in replies] == [reply.data for reply in wanted]
        assert states(one) == states(other)


def test_what_a_killed_daemon_had_answered_is_stored_once_and_first(bench: Workbench) -> None:
    answered(bench, PROMPT)
    bench.live.answer(call_of(bench, read(1), 2))
    spooled_file(bench.home, read(2), time_ns=bench.time_ns + 60_000_000_000)
    with Workbench(bench.home) as restarted:
        assert restarted.live.waiting() == 2
        assert restarted.live.drain() == 2
        assert restarted.live.drain() == 0

    calls = rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.call_id') FROM stored_events "
        "WHERE topic = 'session.tool_returned' ORDER BY rowid",
    )
    assert calls == [("read-1",), ("read-2",)]
    assert kept(bench) == b""


def test_what_was_stored_and_still_kept_is_not_stored_again(bench: Workbench) -> None:
    answered(bench, PROMPT)
    call = call_of(bench, read(1), 2)
    bench.live.answer(call)
    left = kept(bench)
    bench.live.finish()
    bench.home.kept.write_bytes(left)
    before = bench.topics()
    with Workbench(bench.home) as restarted:
        restarted.live.drain()

    assert bench.topics() == before
    assert kept(bench) == b""


def test_a_client_that_gave_up_waiting_and_spooled_is_stored_once(bench: Workbench) -> None:
    answered(bench, PROMPT)
    call = call_of(bench, read(1), 2)
    bench.live.answer(call)
    spooled_file(bench.home, call.payload, time_ns=call.time_ns, delivery_id=call.delivery_id)
    bench.live.finish()
    bench.live.drain()

    assert bench.topics().count("tool_returned") == 1
    assert bench.live.waiting() == 0


def test_a_store_that_fails_after_the_answer_is_asked_again_before_anything_else(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(bench, PROMPT)
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    assert bench.live.answer(call_of(bench, read(1), 2)).data == b"{}"
    for _ in range(2):
        with pytest.raises(OperationalError):
            bench.live.finish()
    with pytest.raises(OperationalError):
        bench.live.answer(call_of(bench, read(2), 3))
    assert bench.live.waiting() == 1
    store.is_on = False
    bench.live.answer(call_of(bench, read(3), 4))
    bench.live.finish()

    assert bench.topics().count("tool_returned") == 2
    assert bench.live.waiting() == 0


def test_while_the_store_is_known_to_fail_no_call_is_answered_first(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [0.0]
    trouble = StoreTrouble(bench.home, bench.log, lambda: None, lambda: seconds[0])
    bench.calls = WatchedCalls(bench.application, bench.log, lambda: bench.at, trouble)
    FailingStore(bench, monkeypatch, DISK_FULL)
    assert bench.live.answer(call_of(bench, PROMPT, 1)).data == b"{}"
    with pytest.raises(StoreFailing):
        bench.live.finish()
    bench.kept.forget()
    seconds[0] = 3_600.0
    with pytest.raises(StoreFailing):
        bench.live.answer(call_of(bench, hooks.payload("Stop"), 2))

    assert bench.live.waiting() == 0


def test_a_call_that_cannot_be_stored_is_set_aside_and_keeps_nobody_waiting(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(bench, PROMPT)
    answer = HookCalls.answer

    def stumble(calls: HookCalls, call: HookCall) -> HookReply:
        if call.answered:
            message = "a payload that nobody thought of"
            raise ValueError(message)
        return answer(calls, call)

    with monkeypatch.context() as patch:
        patch.setattr(HookCalls, "answer", stumble)
        bench.live.answer(call_of(bench, read(1), 2))
        bench.live.finish()
    bench.live.answer(call_of(bench, read(2), 3))
    bench.live.finish()

    assert "kept call refused" in bench.warnings()
    (aside,) = bench.home.refused.iterdir()
    assert aside.stat().st_mode & 0o777 == 0o600
    assert read(1) in aside.read_bytes()
    assert bench.topics().count("tool_returned") == 1


# The file.


def full_disk(monkeypatch: pytest.MonkeyPatch, room: int | None) -> None:
    write = os.pwrite

    def limited(descriptor: int, data: bytes, offset: int) -> int:
        if room is None:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:room], offset)

    monkeypatch.setattr(os, "pwrite", limited)


@pytest.mark.parametrize("room", [None, 0, 100], ids=["an error", "nothing", "a part"])
def test_where_the_call_cannot_be_kept_whole_it_is_stored_first(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, room: int | None
) -> None:
    with monkeypatch.context() as patch:
        full_disk(patch, room)
        answered(bench, PROMPT)
        bench.live.answer(call_of(bench, read(1), 2))
        assert bench.topics().count("tool_returned") == 1
        assert kept(bench) == b""
    bench.live.finish()
    bench.live.answer(call_of(bench, read(2), 3))

    assert bench.topics().count("tool_returned") == 1
    assert read(2) in kept(bench)


def test_a_file_that_cannot_be_emptied_is_used_no_more(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _length: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", refuse)
    answered(bench, PROMPT, read(1))
    assert bench.topics().count("tool_returned") == 1
    bench.live.answer(call_of(bench, hooks.payload("Stop"), 3))

    assert bench.topics()[-1] == "turn_ended"
    assert bench.warnings() == ["calls are stored before they are answered"]


@pytest.mark.parametrize("content", [b"TE1 spool claude_code - plugin 17", b"\0" * 4_096, b"no call\n"])
def test_what_cannot_be_read_at_the_start_is_set_aside(home: Home, content: bytes) -> None:
    home.kept.write_bytes(content)
    with Workbench(home) as bench:
        assert bench.live.waiting() == 0
        (aside,) = home.refused.iterdir()
        assert aside.read_bytes() == content
        assert kept(bench) == b""
        assert bench.warnings() == ["kept call cannot be read"]


@pytest.mark.parametrize("trouble", ["a folder", "no room to set it aside"])
def test_whatever_is_wrong_with_the_file_the_daemon_starts_and_answers(
    home: Home, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    if trouble == "a folder":
        home.kept.mkdir()
    else:
        home.kept.write_bytes(b"no call")
        monkeypatch.setattr(Refused, "keep", no_room)
    with Workbench(home) as bench:
        assert [reply.data for reply in answered(bench, PROMPT, read(1))] == [b"{}", b"{}"]
        assert bench.topics().count("tool_returned") == 1
        assert "calls are stored before they are answered" in bench.warnings()


def test_the_file_is_for_the_user_alone_and_no_link_is_followed(bench: Workbench, tmp_path: Path) -> None:
    target = tmp_path / "other"
    bench.home.kept.symlink_to(target)
    answered(bench, PROMPT)
    assert not target.exists()
    bench.home.kept.unlink()
    bench.kept.close()
    with Workbench(bench.home) as again:
        again.live.answer(call_of(again, hooks.payload("Stop"), 2))
        assert again.home.kept.stat().st_mode & 0o777 == 0o600
