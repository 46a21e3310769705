from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from eventsourcing.persistence import OperationalError
from sessions import shell
from workbench import NOON, REPOSITORY, FailingStore, Workbench, rows_of, stream_of

from tokeneconomizer.domain.commands import (
    Delivery,
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.guard.limits import FAILED_REPEATS
from tokeneconomizer.domain.prune_evidence import OfferedTool, catalog_from_json
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.session_snapshot import STATE_VERSION
from tokeneconomizer.domain.settings import ALL_HOSTS, Configuration
from tokeneconomizer.scheduler.application import SNAPSHOT_EVERY_EVENTS, Answer, User

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eventsourcing.persistence import StoredEvent

DISK_FULL = OperationalError("disk I/O error")
PROMPT = SubmitPrompt("prompt-1", "mend it", PromptKind.HUMAN)


def failing(number: int) -> ReturnCalls:
    call = shell("pytest", "Exit code 1\nValueError: boom", failed=True, call_id=f"call-{number}")
    return ReturnCalls((call,), whole_step=True)


def fail_until_redirected(bench: Workbench, first: int = 1) -> Answer:
    return [bench.do(failing(number)) for number in range(first, first + FAILED_REPEATS)][-1]


def setup_events(bench: Workbench) -> list[tuple[object, ...]]:
    return rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.key'), json_extract(CAST(state AS TEXT), '$.value') "
        "FROM stored_events WHERE topic = 'setup.policy_set' ORDER BY rowid",
    )


def test_one_hook_call_is_one_save_whatever_it_tells(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves: list[int] = []
    insert = bench.store.recorder.insert_events

    def counting(events: Sequence[StoredEvent], **options: object) -> Sequence[int] | None:
        saves.append(len(events))
        return insert(events, **options)

    monkeypatch.setattr(bench.store.recorder, "insert_events", counting)
    bench.do(PROMPT)
    calls = tuple(shell("ls", call_id=f"side by side {number}") for number in range(3))
    answer = bench.do(ReturnCalls(calls, whole_step=True))

    assert saves == [2, 6]
    assert answer.events == 6


def test_an_event_that_need_not_be_stored_saves_nothing(bench: Workbench) -> None:
    answer = bench.do(None)

    assert bench.topics() == []
    assert "nothing to store" in answer.dropped


def test_every_event_names_the_delivery_that_caused_it(bench: Workbench) -> None:
    bench.do(StartSession("startup"), delivery_id="first")
    bench.do(failing(1), delivery_id="second")

    rows = rows_of(
        bench.home.events, "SELECT json_extract(CAST(state AS TEXT), '$.delivery_id') FROM stored_events"
    )
    assert [name for (name,) in rows] == ["first", "second", "second"]


def test_a_delivery_that_comes_again_is_stored_once_also_when_the_program_was_restarted(
    bench: Workbench,
) -> None:
    bench.do(PROMPT, delivery_id="one")
    again = bench.do(PROMPT, delivery_id="one")
    with Workbench(bench.home) as restarted:
        after_restart = restarted.do(PROMPT, delivery_id="one")

    assert "stored already" in again.dropped
    assert "stored already" in after_restart.dropped
    assert bench.topics() == ["started", "prompt_submitted"]


def test_the_place_is_asked_for_once_a_stream(bench: Workbench) -> None:
    bench.do(StartSession("startup"))
    bench.do(PROMPT)

    assert bench.asked.places == ["/home/dev/project"]


def test_a_failed_save_leaves_nothing_behind_and_the_next_call_decides_again(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.do(PROMPT)
    for number in range(1, FAILED_REPEATS):
        bench.do(failing(number))
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        bench.do(failing(FAILED_REPEATS), delivery_id="the one that failed")
    before = bench.topics()
    store.is_on = False
    answer = bench.do(failing(FAILED_REPEATS), delivery_id="the one that failed")

    assert "redirected" not in before
    assert answer.decision.context
    assert bench.topics() == [*before, "tool_called", "tool_returned", "redirected"]


def test_a_session_whose_first_save_failed_begins_with_the_next_call(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        bench.do(StartSession("startup"))
    store.is_on = False
    bench.do(PROMPT)

    assert bench.topics() == ["started", "prompt_submitted"]


def test_the_events_that_wait_for_the_agents_receipt_are_named(bench: Workbench) -> None:
    answer = fail_until_redirected(bench)

    topics = stream_of(bench, answer.stream_id)
    assert [said.topic for said in answer.said] == ["session.redirected"]
    assert topics[answer.said[0].version - 1] == "redirected"


def test_what_was_not_delivered_does_not_count_and_is_said_again(bench: Workbench) -> None:
    lost = fail_until_redirected(bench)
    bench.application.delivery_failed(lost.stream_id, lost.said, bench.at, "the agent was gone")
    again = bench.do(ReturnCalls((shell("ls", call_id="call-9"),), whole_step=True))

    assert again.decision.context == lost.decision.context
    assert stream_of(bench, lost.stream_id).count("delivery_failed") == 1


def test_a_delivery_of_nothing_or_of_an_unknown_session_cannot_fail(bench: Workbench) -> None:
    lost = fail_until_redirected(bench)
    bench.application.delivery_failed(lost.stream_id, (), bench.at, "nothing was said")
    bench.application.delivery_failed(Session.create_id("codex", "x", ""), lost.said, bench.at, "unknown")

    assert "delivery_failed" not in bench.topics()


def test_a_failed_delivery_that_cannot_be_stored_leaves_the_session_as_it_was(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = fail_until_redirected(bench)
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        bench.application.delivery_failed(lost.stream_id, lost.said, bench.at, "the agent was gone")
    store.is_on = False
    next_answer = bench.do(failing(9))

    assert not next_answer.decision.context
    assert "delivery_failed" not in bench.topics()


@pytest.mark.parametrize(
    ("configuration", "redirects"),
    [
        (Configuration(), 1),
        (Configuration(everywhere={"loopguard": "off"}), 0),
        (Configuration(hosts={"claude_code": {"loopguard": "off"}}), 0),
        (Configuration(hosts={"codex": {"loopguard": "off"}}), 1),
        (Configuration(repositories={REPOSITORY: {"loopguard": "off"}}), 0),
        (Configuration(repositories={"example.org/another": {"loopguard": "off"}}), 1),
        (Configuration({"loopguard": "off"}, {}, {REPOSITORY: {"loopguard": "on"}}), 1),
    ],
)
def test_the_guard_is_on_unless_it_was_turned_off_for_this_work(
    bench: Workbench, configuration: Configuration, redirects: int
) -> None:
    bench.settings = configuration
    fail_until_redirected(bench)

    assert bench.topics().count("redirected") == redirects


def test_a_changed_limit_holds_from_the_next_prompt_on(bench: Workbench) -> None:
    bench.do(PROMPT)
    bench.settings = Configuration(everywhere={"guard.failed_repeats": 2})
    in_old_turn = [bool(bench.do(failing(number)).decision.context) for number in range(2)]
    bench.do(EndTurn("stop"))
    bench.do(replace(PROMPT, prompt_id="prompt-2"))
    in_new_turn = [bool(bench.do(failing(10 + number)).decision.context) for number in range(2)]

    assert in_old_turn == [False, False]
    assert in_new_turn == [False, True]


@pytest.mark.parametrize(
    ("lang", "locale", "language"),
    [
        ("auto", "zh_CN.UTF-8", "zh"),
        ("auto", "ZH_TW", "zh"),
        ("auto", "en_US.UTF-8", "en"),
        ("auto", "de_DE.UTF-8", "en"),
        ("auto", "", "en"),
        ("zh", "en_US.UTF-8", "zh"),
        ("en", "zh_CN.UTF-8", "en"),
    ],
)
def test_users_are_spoken_to_in_their_language(lang: str, locale: str, language: str) -> None:
    assert User("/home/dev", locale).language_under(Configuration({"lang": lang})) == language


@pytest.mark.parametrize(
    ("echo", "hides", "echoed", "logs_read"),
    [
        ("auto", True, True, 3),
        ("auto", False, False, 3),
        ("always", False, True, 0),
        ("never", True, False, 0),
    ],
)
def test_whether_a_hint_is_echoed_is_looked_up_in_the_log_only_after_a_redirect(
    bench: Workbench, echo: str, *, hides: bool, echoed: bool, logs_read: int
) -> None:
    bench.settings = Configuration(everywhere={"echo_stop_hint": echo})
    bench.asked.hides_hints = hides
    fail_until_redirected(bench)
    before_redirect = bench.asked.logs_read
    answers = [bench.do(failing(number)) for number in (11, 12, 13)]

    assert before_redirect == 0
    assert bench.asked.logs_read == logs_read
    assert answers[-1].decision.hint
    assert bool(answers[-1].decision.context) is echoed
    assert [said.topic for said in answers[-1].said] == ["session.stop_hinted"]


def test_a_long_session_is_snapshot_between_two_turns_alone(bench: Workbench) -> None:
    steps = SNAPSHOT_EVERY_EVENTS // 2 + 1
    for number in range(steps):
        call = shell(f"ls {number}", "x" * number, call_id=f"call-{number}")
        bench.do(ReturnCalls((call,), whole_step=True))
    versions = f"SELECT originator_version FROM stored_snapshots_{STATE_VERSION}"
    within_turn = rows_of(bench.home.events, versions)
    bench.do(EndTurn("stop"))
    bench.do(EndSession("other"))

    (snapshot,) = rows_of(bench.home.events, versions)
    assert within_turn == []
    assert snapshot == (2 * steps + 2,)


def test_only_policies_that_changed_are_stored_and_a_removed_one_as_null(bench: Workbench) -> None:
    on = (ALL_HOSTS, "loopguard", '"on"', "")
    off, gone = (*on[:2], '"off"', ""), (*on[:2], "null", "")
    unset = (ALL_HOSTS, "judge", "null", "")
    of_repository = (ALL_HOSTS, "loopguard", '"off"', REPOSITORY)

    counts = [
        bench.application.policies_seen(seen, NOON)
        for seen in ([on, unset], [on], [off, of_repository], [off, of_repository], [gone, unset], [gone])
    ]

    assert counts == [1, 0, 2, 0, 1, 0]
    assert setup_events(bench) == [
        ("loopguard", '"on"'), ("loopguard", '"off"'), ("loopguard", '"off"'), ("loopguard", "null"),
    ]  # fmt: skip
    assert bench.application.known_policies(ALL_HOSTS) == {
        "loopguard": "null",
        f"{REPOSITORY}\nloopguard": '"off"',
    }
    assert bench.application.known_policies("codex") == {}


def test_a_policy_that_could_not_be_stored_is_stored_the_next_time(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    on, off = ((ALL_HOSTS, "loopguard", value, "") for value in ('"on"', '"off"'))
    bench.application.policies_seen([on], NOON)
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        bench.application.policies_seen([off], NOON)
    store.is_on = False

    assert bench.application.policies_seen([off], NOON) == 1
    assert setup_events(bench) == [("loopguard", '"on"'), ("loopguard", '"off"')]


def test_an_installation_is_stored_and_one_that_failed_to_be_stored_as_well(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(action: str) -> None:
        bench.application.setup_changed(
            "claude_code", NOON, action=action, files=["~/.claude/settings.json"], versions=("1.0", "2.1.332")
        )

    install("install")
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        install("uninstall")
    store.is_on = False
    install("uninstall")

    rows = rows_of(bench.home.events, "SELECT topic, originator_version FROM stored_events ORDER BY rowid")
    assert rows == [("setup.opened", 1), ("setup.changed", 2), ("setup.changed", 3)]


def test_a_stream_of_another_kind_is_no_session(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.do(PROMPT)
    monkeypatch.setattr(
        "tokeneconomizer.domain.setup.Setup.create_id",
        staticmethod(lambda _host: Session.create_id("claude_code", "session-1", "")),
    )
    with pytest.raises(TypeError, match="is no Setup"):
        bench.application.known_policies("claude_code")


@pytest.mark.parametrize(
    ("ended", "silent_s", "archived"), [(False, 0, True), (False, 1, False), (True, 0, False)]
)
def test_a_session_is_archived_once_and_only_if_it_is_still_silent(
    bench: Workbench, *, ended: bool, silent_s: int, archived: bool
) -> None:
    stream_id = bench.do(PROMPT).stream_id
    if ended:
        bench.do(EndSession("other"))
    silent_since, now = bench.at - timedelta(seconds=silent_s), bench.at + timedelta(hours=6)
    before = bench.topics()

    assert bench.application.archive_silent(stream_id, silent_since, now) is archived
    assert bench.application.archive_silent(stream_id, silent_since, now) is False
    assert bench.topics() == before + ["turn_ended", "archived"] * archived
    assert not bench.application.archive_silent(Session.create_id("codex", "x", ""), now, now)


def test_an_archive_that_could_not_be_stored_is_stored_the_next_time(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_id = bench.do(PROMPT).stream_id
    store = FailingStore(bench, monkeypatch, DISK_FULL)
    with pytest.raises(OperationalError):
        bench.application.archive_silent(stream_id, bench.at, bench.at)
    store.is_on = False

    assert bench.application.archive_silent(stream_id, bench.at, bench.at)
    assert bench.topics() == ["started", "prompt_submitted", "turn_ended", "archived"]


def test_the_tools_that_an_agent_offers_are_stored_when_they_are_told_and_changed(bench: Workbench) -> None:
    offered = (OfferedTool("bash", characters=500), OfferedTool("mcp__issues__list", "issues"))
    for number, tools in enumerate((offered, offered, (), offered[:1])):
        command = HookCommand(
            SessionKey("pi", "session-1"), "", "/home/dev/project", "", PROMPT, offered=tools
        )
        bench.application.handle(command, Delivery(str(number), bench.at + timedelta(minutes=number)))

    rows = rows_of(
        bench.home.events,
        "SELECT json_extract(CAST(state AS TEXT), '$.catalog') FROM stored_events"
        " WHERE topic = ? ORDER BY rowid",
        "tool_prune.catalog_recorded",
    )
    assert [catalog_from_json(str(catalog)) for (catalog,) in rows] == [list(offered), list(offered[:1])]
