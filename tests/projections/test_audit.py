import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from event_samples import event_classes, field_values
from hypothesis import given
from hypothesis import strategies as st
from sessions import MAIN, Telling, edit, shell
from stores import NOON, STREAM, Row, add_rows, make_store, row_of, save, topic_of

from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.setup import Setup
from tokeneconomizer.domain.tool_prune import ToolPrune
from tokeneconomizer.projections import audit
from tokeneconomizer.projections.audit_words import SUMMARY_CHARACTERS_MAX, WORDS, summary_of
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View, create_view

TOPICS = sorted(event_classes())


class Folded:
    """A store and its audit view."""

    def __init__(self, folder: Path) -> None:
        self.store = make_store(folder / "events.db")
        create_view(folder / "audit.1.db", audit)
        self.view = View(folder / "audit.1.db", audit)
        self.log = EventLog(self.store)

    def catch_up(self) -> sqlite3.Connection:
        self.view.catch_up(self.log)
        return self.view.connection()


@pytest.fixture
def folded(tmp_path: Path) -> Iterator[Folded]:
    folded = Folded(tmp_path)
    yield folded
    folded.view.close()
    folded.log.close()


def circling_session() -> Telling:
    """A session that is redirected and, as it goes on, hinted."""
    telling = Telling()
    telling.start()
    telling.prompt()
    telling.step(edit("src/app.py", "x = 1"))
    for _ in range(8):
        telling.step(shell("make check", "Error: no rule to make target", failed=True))
    telling.stop()
    return telling


def store_events(folded: Folded, telling: Telling) -> None:
    add_rows(folded.store, map(row_of, telling.events))


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_every_kind_of_event_has_words_and_no_words_are_left_over() -> None:
    assert sorted(WORDS) == TOPICS
    assert set(TOPICS) >= audit.DECISIONS


@pytest.mark.parametrize("topic", TOPICS)
@given(st.data())
def test_every_event_is_told_in_one_short_sentence(topic: str, data: st.DataObject) -> None:
    words = summary_of(topic, data.draw(field_values(topic)))
    assert words[0].isupper()
    assert "\n" not in words
    assert "None" not in words
    assert len(words) <= SUMMARY_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("topic", "fields", "words"),
    [
        (
            "session.started",
            {"agent_id": "", "source": "startup", "model": "model-1"},
            "Session started (startup), model model-1",
        ),
        (
            "session.started",
            {"agent_id": "a1", "agent_type": "explorer", "source": "startup"},
            "Sub-agent started (explorer)",
        ),
        (
            "session.facts_injected",
            {"text": "x" * 1234, "block_version": 3},
            "Facts block 3 injected, 1,234 characters",
        ),
        (
            "session.tool_called",
            {"tool": "Bash", "command": "make\n  check", "target": "", "background": True},
            "Called Bash in the background: make check",
        ),
        (
            "session.tool_returned",
            {"status": "failed", "exit_code": 2, "interrupted": False, "signature": "Error <n>"},
            "The call failed with exit status 2 (Error <n>)",
        ),
        (
            "session.turn_ended",
            {
                "turn": 2,
                "outcome": "unverified",
                "reason": "stop",
                "calls": 1,
                "failures": 0,
                "edits": 3,
                "duration_ms": 61_250,
            },
            "Turn 2 ended unverified (stop): 1 call, 0 failures, 3 edits, 61.2 s",
        ),
        (
            "tool_prune.deny_list_written",
            {"file": ".claude/settings.local.json", "names": list("abcdefg"), "overridden": False},
            "Deny list written to .claude/settings.local.json: a, b, c, d, e and 2 more",
        ),
        (
            "session.compacted",
            {"trigger": "auto", "summary_characters": None},
            "Conversation compacted (auto)",
        ),
        ("setup.policy_set", {"key": "lang", "value": '"zh"', "repository": ""}, 'Setting lang is "zh"'),
        (
            "setup.policy_set",
            {"key": "lang", "value": "null", "repository": "r"},
            "Setting lang removed for r",
        ),
    ],
)
def test_the_words_of_an_event(topic: str, fields: dict[str, object], words: str) -> None:
    assert summary_of(topic, fields) == words


@pytest.mark.parametrize(
    ("topic", "fields"),
    [
        ("session.redirected", {"turn": 1, "call_number": 1, "rule": "r", "occurrences": 1}),
        ("session.unheard_of", {"reason": ""}),
        ("session.archived", {}),
        ("session.compacted", {"trigger": "auto", "summary_characters": "many"}),
    ],
)
def test_an_event_without_words_or_fields_is_an_error(topic: str, fields: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError)):
        summary_of(topic, fields)


def test_a_session_is_told_from_its_start_to_its_end(folded: Folded) -> None:
    telling = circling_session()
    store_events(folded, telling)
    history = audit.entries(folded.catch_up(), folded.log, limit=100, newest_first=False)
    assert [entry.kind for entry in history] == [topic_of(event) for event in telling.events]
    first = history[0]
    assert (first.host, first.session_id, first.agent_id) == (MAIN.host, MAIN.session_id, "")
    assert (first.repository, first.checkout) == ("example.org/team/project", "/home/dev/project")
    assert {entry.session_id for entry in history} == {MAIN.session_id}
    assert first.at == telling.events[0].timestamp.isoformat()
    assert folded.view.set_aside() == []


def test_a_redirect_is_told_whole_with_what_caused_it(folded: Folded) -> None:
    telling = circling_session()
    store_events(folded, telling)
    connection = folded.catch_up()
    redirect = telling.of("redirected")[0]
    (entry,) = audit.entries(connection, folded.log, kind="session.redirected")
    assert vars(redirect)["text"] in entry.summary
    assert (entry.is_decision, entry.delivered) == (True, True)
    assert entry.delivery_id == redirect.delivery_id
    assert entry.call_id == vars(redirect)["call_id"]
    assert audit.entry(connection, folded.log, entry.position) == entry
    assert audit.entry(connection, folded.log, 10_000) is None


@pytest.mark.parametrize("topic", ["redirected", "stop_hinted"])
def test_what_did_not_reach_the_agent_is_marked(folded: Folded, topic: str) -> None:
    telling = circling_session()
    store_events(folded, telling)
    event = telling.of(topic)[0]
    failed = {
        "delivery_id": "",
        "failed_topic": topic_of(event),
        "failed_version": event.originator_version,
        "reason": "no confirmation",
    }
    folded.catch_up()
    add_rows(folded.store, [Row("session.delivery_failed", failed, stream=event.originator_id.hex)])
    connection = folded.catch_up()
    assert [entry.delivered for entry in audit.entries(connection, folded.log, kind=topic_of(event))] == [
        False
    ]
    told = audit.entries(connection, folded.log, kind="session.delivery_failed")[0]
    assert "did not reach the agent (no confirmation)" in told.summary
    delivered = {entry.kind: entry.delivered for entry in audit.entries(connection, folded.log, limit=100)}
    assert delivered["session.tool_called"] is None


def test_a_failed_delivery_marks_nothing_in_another_stream(folded: Folded) -> None:
    said = {"text": "x", "block_version": 1}
    failed = {"failed_topic": "session.facts_injected", "failed_version": 1, "reason": ""}
    add_rows(
        folded.store,
        [
            Row("session.facts_injected", said, stream="a" * 32),
            Row("session.facts_injected", said, stream="b" * 32),
            Row("session.delivery_failed", failed, stream="b" * 32),
        ],
    )
    entries = audit.entries(folded.catch_up(), folded.log, kind="session.facts_injected", newest_first=False)
    assert [entry.delivered for entry in entries] == [True, False]


@pytest.mark.parametrize("batch", [1, 10])
def test_only_what_was_said_before_can_be_taken_back(folded: Folded, batch: int) -> None:
    failed = {"failed_topic": "session.facts_injected", "failed_version": 2, "reason": ""}
    said = {"text": "x", "block_version": 1}
    add_rows(folded.store, [Row("session.delivery_failed", failed), Row("session.facts_injected", said)])
    folded.view.catch_up(folded.log, batch=batch)
    (entry,) = audit.entries(folded.catch_up(), folded.log, kind="session.facts_injected")
    assert entry.delivered


def test_decisions_can_be_asked_for_alone(folded: Folded) -> None:
    store_events(folded, circling_session())
    kinds = {entry.kind for entry in audit.entries(folded.catch_up(), folded.log, decisions_only=True)}
    assert kinds == {"session.gate_fired", "session.redirected", "session.stop_hinted"}


def test_the_list_can_be_narrowed(folded: Folded) -> None:
    compacted = {"trigger": "auto", "summary_characters": 1}
    started = {"session_id": "s2", "agent_id": "", "source": "startup", "model": ""}
    add_rows(
        folded.store,
        [
            Row("session.compacted", compacted, stream=STREAM),
            Row("session.started", started, stream="b" * 32, at=NOON + timedelta(hours=1)),
            Row("session.compacted", compacted, stream="b" * 32, at=NOON + timedelta(hours=2)),
            Row("session.ended", {"reason": ""}, stream="b" * 32, at=NOON + timedelta(hours=3)),
        ],
    )
    connection = folded.catch_up()

    def positions(**options: object) -> list[int]:
        return [entry.position for entry in audit.entries(connection, folded.log, **options)]  # type: ignore[arg-type]

    assert positions() == [4, 3, 2, 1]
    assert positions(newest_first=False, limit=2) == [1, 2]
    assert positions(session="s2") == [4, 3, 2]
    assert positions(kind="session.compacted") == [3, 1]
    assert positions(session="s2", kind="session.compacted", decisions_only=False) == [3]
    assert positions(session="absent") == []


def test_set_up_policies_and_deny_lists_are_told(folded: Folded) -> None:
    setup = Setup.open("claude_code", NOON)
    setup.trigger_event(
        Setup.Changed,
        timestamp=NOON,
        action="install",
        files=["~/x.json"],
        program_version="1",
        agent_version="2",
    )
    prune = ToolPrune._create(  # noqa: SLF001 - the library's way to begin a stream
        ToolPrune.Created,
        id=ToolPrune.create_id("claude_code", "/c"),
        timestamp=NOON,
        host="claude_code",
        repository="r",
        checkout="/c",
    )
    prune.trigger_event(
        ToolPrune.DenyListRefused, timestamp=NOON, names=["A"], file="f", reason="symlink", detail=""
    )
    save(folded.store, setup, prune)
    connection = folded.catch_up()
    refused, changed = audit.entries(connection, folded.log, decisions_only=True)
    assert changed.summary == "Installed into the agent: ~/x.json"
    assert refused.summary == "Deny list not written to f: symlink"
    assert (refused.host, refused.repository, refused.checkout) == ("claude_code", "r", "/c")


def test_an_unknown_kind_of_event_is_set_aside(folded: Folded) -> None:
    add_rows(folded.store, [Row("session.unheard_of"), Row("session.ended", {"reason": ""})])
    assert [entry.position for entry in audit.entries(folded.catch_up(), folded.log)] == [2]
    assert [aside.topic for aside in folded.view.set_aside()] == ["session.unheard_of"]


def test_an_event_that_can_no_longer_be_read_stays_in_the_list(folded: Folded) -> None:
    store_events(folded, circling_session())
    kinds = [entry.kind for entry in audit.entries(folded.catch_up(), folded.log)]
    change(folded.store, "UPDATE stored_events SET state = X'7B' WHERE rowid = 2")
    change(folded.store, "DELETE FROM stored_events WHERE rowid = 3")
    entries = audit.entries(folded.catch_up(), folded.log)
    assert [entry.kind for entry in entries] == kinds
    lost = [entry for entry in entries if entry.at == ""]
    assert [entry.position for entry in lost] == [3, 2]
    assert {entry.summary for entry in lost} == {"the event cannot be read any more: see `te audit verify`"}


def test_a_store_that_can_no_longer_be_read_leaves_the_list(folded: Folded) -> None:
    store_events(folded, circling_session())
    connection = folded.catch_up()
    folded.log.close()
    folded.store.write_bytes(b"no database" * 1000)
    entries = audit.entries(connection, folded.log, kind="session.redirected")
    assert [(entry.at, entry.is_decision) for entry in entries] == [("", True)]


def test_an_event_whose_words_fail_says_so(folded: Folded) -> None:
    add_rows(folded.store, [Row("session.ended")])
    (entry,) = audit.entries(folded.catch_up(), folded.log)
    assert entry.summary == "this version has no words for session.ended"


@given(text=st.text(max_size=2_000))
def test_no_summary_is_long(text: str) -> None:
    fields = {"turn": 1, "call_number": 1, "rule": text, "occurrences": 1, "text": text}
    assert len(summary_of("session.redirected", fields)) <= SUMMARY_CHARACTERS_MAX


def test_the_stream_of_a_session_is_the_aggregates(folded: Folded) -> None:
    store_events(folded, circling_session())
    assert {entry.stream_id for entry in audit.entries(folded.catch_up(), folded.log)} == {
        Session.stream_id(MAIN).hex
    }
