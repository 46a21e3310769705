"""What a hook call means: events, answers, duplicates, turns (S1.1, S2.11, S4.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sessions import MAIN, Telling, edit, shell

from tokeneconomizer.domain.commands import Compact, EndSession, PromptKind, SessionKey, StartCall
from tokeneconomizer.domain.digests import Call, CallStatus
from tokeneconomizer.domain.ending import archive_silent
from tokeneconomizer.domain.session import Phase


def test_a_session_is_told_as_start_prompt_calls_and_end_of_turn() -> None:
    telling = Telling()
    telling.start()
    telling.prompt()
    telling.step(shell("ls", "a b"))
    telling.stop()
    telling.tell(EndSession("other"))

    assert telling.topics() == [
        "started", "prompt_submitted", "tool_called", "tool_returned", "turn_ended", "ended", "archived",
    ]  # fmt: skip
    assert telling.session is not None
    assert telling.session.phase is Phase.ARCHIVED


def test_a_second_end_of_the_same_session_changes_nothing() -> None:
    telling = Telling()
    telling.start()
    telling.tell(EndSession("other"))
    again = telling.tell(EndSession("other"))

    assert telling.topics() == ["started", "ended", "archived"]
    assert "another registration" in again.dropped


def test_the_end_of_a_session_that_was_archived_by_silence_is_stored() -> None:
    telling = Telling()
    telling.start()
    assert telling.session is not None
    archive_silent(telling.session, telling.at)
    telling.tell(EndSession("other"))

    assert telling.topics() == ["started", "archived", "ended", "archived"]


def test_an_archived_session_goes_on_when_it_is_resumed() -> None:
    telling = Telling()
    telling.start()
    telling.tell(EndSession("other"))
    telling.start("resume")

    assert telling.session is not None
    assert telling.session.phase is Phase.IDLE


def test_a_silent_session_is_archived_and_its_open_turn_ended_first() -> None:
    telling = Telling()
    telling.prompt()
    assert telling.session is not None
    archive_silent(telling.session, telling.at)

    assert [event.TOPIC for event in telling.session.collect_events()] == [  # type: ignore[attr-defined]
        "session.turn_ended", "session.archived",
    ]  # fmt: skip
    assert telling.session.phase is Phase.ARCHIVED


def test_a_session_that_is_first_seen_in_its_middle_begins_as_unseen() -> None:
    telling = Telling()
    telling.step(shell("ls"))

    assert telling.topics() == ["started", "tool_called", "tool_returned"]
    assert telling.events[0].source == "unseen"
    assert telling.events[0].repository == "example.org/team/project"


def test_every_event_holds_the_delivery_that_caused_it_and_the_time_of_the_hook() -> None:
    telling = Telling()
    telling.start(delivery_id="first")
    telling.step(shell("ls"), shell("pwd"), delivery_id="second")

    assert [event.delivery_id for event in telling.events] == ["first"] + ["second"] * 4
    assert {event.timestamp for event in telling.of("tool_called")} == {telling.at}


def test_a_delivery_that_is_stored_already_is_dropped() -> None:
    telling = Telling()
    telling.prompt(delivery_id="one")
    outcome = telling.prompt(delivery_id="one", after_s=600)

    assert outcome.session is None
    assert "stored already" in outcome.dropped
    assert len(telling.of("prompt_submitted")) == 1


@pytest.mark.parametrize(("answered", "failed"), [(False, []), (True, ["session.redirected"])])
def test_what_a_stored_call_said_is_taken_back_when_its_hook_client_answered_by_itself(
    answered: bool, failed: list[str]
) -> None:
    telling = Telling()
    for number in range(3):
        telling.step(shell("pytest", "boom", failed=True), delivery_id=f"step-{number}")
    again = telling.step(shell("pytest", "boom", failed=True), delivery_id="step-2", answered=answered)

    assert len(telling.of("redirected")) == 1
    assert "stored already" in again.dropped
    assert not again.decision.says_something
    assert [event.failed_topic for event in telling.of("delivery_failed")] == failed  # S2.12
    assert telling.session is not None
    assert bool(telling.session.turn.undelivered) is answered


@pytest.mark.parametrize(("after_s", "prompts"), [(0, 1), (2, 1), (2.1, 2)])
def test_the_same_prompt_within_two_seconds_came_through_another_registration(
    after_s: float, prompts: int
) -> None:
    telling = Telling()
    telling.prompt("go on")
    last = telling.deliveries
    telling.deliveries = last - 1
    telling.prompt("go on", after_s=after_s, delivery_id="of another registration")

    assert len(telling.of("prompt_submitted")) == prompts  # S2.11


@pytest.mark.parametrize(("after_s", "resumed"), [(1, 0), (3, 1)])
def test_the_same_start_within_two_seconds_is_one_start(after_s: float, resumed: int) -> None:
    telling = Telling()
    telling.start("startup")
    telling.start("startup", after_s=after_s)

    assert telling.topics() == ["started"] + ["resumed"] * resumed


def test_a_call_that_failed_is_merged_into_its_step_and_stored_once() -> None:
    telling = Telling()
    failed, fine = telling.named(shell("pytest", "Exit code 1\nboom", failed=True), shell("ls"))
    telling.step(failed, whole_step=False)
    telling.step(replace(failed, status=CallStatus.OK, output="Exit code 1\nboom"), fine)

    assert telling.topics()[1:] == ["tool_called", "tool_returned"] * 2
    assert [event.status for event in telling.of("tool_returned")] == ["failed", "ok"]
    assert [event.step for event in telling.of("tool_called")] == [1, 1]


def test_a_step_whose_calls_all_failed_before_is_closed_by_an_event_of_its_own() -> None:
    telling = Telling()
    (failed,) = telling.named(shell("pytest", failed=True))
    telling.step(failed, whole_step=False)
    telling.step(failed)
    again = telling.step(failed)
    telling.step(shell("pytest -x", failed=True), whole_step=False)

    assert telling.topics()[1:] == [
        "tool_called",
        "tool_returned",
        "step_ended",
        "tool_called",
        "tool_returned",
    ]
    assert "stored already" in again.dropped
    assert [event.step for event in telling.of("tool_called")] == [1, 2]


@pytest.mark.parametrize("kind", list(PromptKind))
def test_a_prompt_that_finds_a_turn_open_ends_it_first(kind: PromptKind) -> None:
    telling = Telling()
    telling.prompt("one")
    telling.prompt("two", kind)

    assert telling.topics()[1:] == ["prompt_submitted", "turn_ended", "prompt_submitted"]
    assert telling.of("turn_ended")[0].reason == "no_stop"
    assert telling.of("prompt_submitted")[1].kind == kind.value


def test_calls_that_the_user_cut_off_are_stored_before_the_next_prompt() -> None:
    telling = Telling()
    telling.prompt()
    known, cut_off = telling.named(shell("ls"), shell("sleep 100", failed=True))
    telling.step(known)
    telling.prompt("not like that", unheard=(known, cut_off))

    assert telling.topics()[-4:] == ["tool_called", "tool_returned", "turn_ended", "prompt_submitted"]
    assert [event.call_id for event in telling.of("tool_called")] == [known.call_id, cut_off.call_id]
    assert telling.of("turn_ended")[0].calls == 2


def test_calls_that_no_hook_told_are_stored_and_judged_when_the_next_call_starts() -> None:
    telling = Telling()
    telling.prompt()
    failing = telling.named(*[shell("make", "no rule", failed=True)] * 4)
    decisions = [
        telling.tell(StartCall(f"next-{number}"), unheard=failing[:number]).decision
        for number in range(1, len(failing) + 1)
    ]

    assert [event.call_id for event in telling.of("tool_returned")] == [call.call_id for call in failing]
    assert [event.step for event in telling.of("tool_called")] == [1, 2, 3, 4]
    assert [number for number, decision in enumerate(decisions, start=1) if decision.context] == [3]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_call_that_starts_after_calls_that_are_stored_leaves_no_trace(*, is_known: bool) -> None:
    telling = Telling()
    stored: tuple[Call, ...] = ()
    if is_known:
        telling.prompt()
        stored = telling.named(shell("ls"))
        telling.step(*stored)
    outcome = telling.tell(StartCall("next"), unheard=stored)

    assert (outcome.session, outcome.decision.says_something, outcome.dropped) == (None, False, "")


def test_a_result_that_is_stored_already_is_judged_with_what_no_hook_told() -> None:
    telling = Telling()
    telling.prompt()
    failing = telling.named(*[shell("make", "no rule", failed=True)] * 3)
    telling.step(failing[0])
    telling.step(failing[1])
    outcome = telling.step(failing[1], unheard=failing)

    assert outcome.decision.context


def test_a_turn_ends_with_its_counts_and_stays_unverified_without_a_test_verdict() -> None:
    telling = Telling()
    telling.prompt()
    telling.step(shell("pytest", failed=True), edit("a.py", "x = 1"))
    telling.step(edit("a.py", "x = 2", error="<tool_use_error>String to replace not found"))
    telling.stop("server_error")

    (ended,) = telling.of("turn_ended")
    assert (ended.calls, ended.failures, ended.edits, ended.steps) == (3, 2, 1, 2)
    assert (ended.reason, ended.outcome) == ("server_error", "unverified")
    assert ended.duration_ms == 30_000


def test_a_turn_tells_which_files_it_wrote_each_once() -> None:
    telling = Telling()
    telling.prompt()
    telling.step(edit("/home/dev/project/a.py", "1"), edit("b.py", "2"))
    telling.step(edit("a.py", "3"), edit("c.py", "4", error="<tool_use_error>String to replace not found"))
    telling.stop()

    assert [event.written for event in telling.of("tool_returned")] == [["a.py"], ["b.py"], ["a.py"], []]
    assert telling.of("turn_ended")[0].written == ["b.py", "a.py"]


def test_a_second_stop_changes_nothing() -> None:
    telling = Telling()
    telling.prompt()
    telling.stop()
    telling.stop()

    assert telling.topics().count("turn_ended") == 1


def test_a_compaction_keeps_the_turn_open_and_a_resume_ends_it() -> None:
    telling = Telling()
    telling.prompt()
    telling.tell(Compact("auto", 1200))
    telling.start("compact")
    assert telling.session is not None
    assert telling.session.turn.is_open

    telling.start("resume")
    assert telling.topics()[1:] == ["prompt_submitted", "compacted", "resumed", "turn_ended", "resumed"]


def test_a_sub_agent_is_a_stream_of_its_own_that_knows_its_parent() -> None:
    sub_agent = Telling(key=SessionKey("claude_code", "session-1", "agent-7"))
    sub_agent.start("sub_agent")
    sub_agent.step(shell("ls"))
    sub_agent.tell(EndSession("stop"))
    main = Telling()
    main.start()

    assert main.session is not None
    assert sub_agent.session is not None
    assert sub_agent.events[0].parent == main.session.id.hex
    assert sub_agent.session.id != main.session.id
    assert sub_agent.topics()[-3:] == ["turn_ended", "ended", "archived"]
    assert {event.agent_id for event in sub_agent.of("tool_called")} == {"agent-7"}
    assert MAIN.agent_id == ""


def test_an_event_that_need_not_be_stored_leaves_no_trace() -> None:
    telling = Telling()
    outcome = telling.tell(None)

    assert outcome.session is None
    assert not outcome.decision.says_something


def test_of_a_prompt_only_its_length_and_the_names_in_it_are_kept() -> None:
    telling = Telling()
    telling.prompt("the secret plan")

    stored = vars(telling.of("prompt_submitted")[0])
    assert stored["characters"] == len("the secret plan")
    assert "secret" not in repr(stored)
