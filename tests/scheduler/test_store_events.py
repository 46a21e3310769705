"""Events and snapshots through the mapper: what is read is what was saved."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from event_samples import event_classes, field_values
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Telling, edit, shell
from workbench import SESSION, Workbench, rows_of

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    PromptKind,
    ReturnCalls,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.session_snapshot import STATE_VERSION, SessionSnapshot
from tokeneconomizer.scheduler import store
from tokeneconomizer.scheduler.application import SNAPSHOT_EVERY_EVENTS
from tokeneconomizer.scheduler.store import FlatMapper, OrjsonTranscoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eventsourcing.domain import AggregateEvent

MAPPER = FlatMapper(OrjsonTranscoder())
STREAM = UUID("8ac8a505-ee37-5597-80a5-baeca9bd977b")
TIMES = st.sampled_from(
    [
        datetime(2026, 1, 5, 12, 0, 0, 1, UTC),
        datetime(2026, 1, 5, 12, 0, tzinfo=UTC),
        datetime(2026, 7, 5, 12, 0, 0, 999_999, timezone(timedelta(hours=5, minutes=30))),
    ]
)


@pytest.mark.parametrize("topic", sorted(event_classes()))
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_every_event_is_read_as_it_was_saved(topic: str, data: st.DataObject) -> None:
    event = object.__new__(event_classes()[topic])
    vars(event).update(
        data.draw(field_values(topic)),
        originator_id=STREAM,
        originator_version=3,
        timestamp=data.draw(TIMES),
    )
    stored = MAPPER.to_stored_event(event)
    read = MAPPER.to_domain_event(stored)

    assert stored.topic == topic
    assert type(read) is type(event)
    assert vars(read) == vars(event)


PROMPT_TEXTS = st.sampled_from(["go on", "mend it", "why"])
CALLS = st.lists(
    st.sampled_from(
        [
            shell("pytest", "Exit code 1\nValueError: boom", failed=True),
            shell("ls", "a b"),
            edit("a.py", "x = 1"),
            edit("a.py", "x = 2", error="<tool_use_error>String to replace not found"),
        ]
    ),
    min_size=1,
    max_size=3,
).map(tuple)
Told = StartSession | SubmitPrompt | ReturnCalls | EndTurn | Compact | EndSession | None
STEPS: st.SearchStrategy[Told] = st.one_of(
    st.builds(StartSession, st.sampled_from(["startup", "resume", "compact", "clear"])),
    st.builds(SubmitPrompt, st.just("prompt"), PROMPT_TEXTS, st.sampled_from(PromptKind)),
    st.builds(ReturnCalls, CALLS, st.booleans()),
    st.builds(EndTurn, st.sampled_from(["stop", "server_error"])),
    st.builds(Compact, st.just("auto"), st.just(1_000)),
    st.builds(EndSession, st.just("other")),
    # Nothing told: the newest reply that said something was not delivered.
    st.none(),
)


def take_back_the_newest_reply(telling: Telling) -> None:
    session = telling.session
    said = telling.of("redirected") + telling.of("stop_hinted")
    if session is None or not said:
        return
    lost = max(said, key=lambda event: event.originator_version)
    session.trigger_event(
        Session.DeliveryFailed,
        timestamp=telling.at,
        delivery_id="",
        failed_topic=lost.TOPIC,
        failed_version=lost.originator_version,
        reason="not confirmed",
    )
    telling.events += session.collect_events()  # type: ignore[arg-type]


def tell(telling: Telling, step: Told) -> None:
    if step is None:
        take_back_the_newest_reply(telling)
    elif isinstance(step, ReturnCalls):
        telling.step(*step.calls, whole_step=step.whole_step)
    else:
        telling.tell(step)


def replayed(events: Iterable[AggregateEvent]) -> Session:
    session: Session | None = None
    for event in events:
        session = MAPPER.to_domain_event(MAPPER.to_stored_event(event)).mutate(session)  # type: ignore[attr-defined]
    assert session is not None
    return session


def memory_of(session: Session) -> dict[str, object]:
    """All of its state that must not depend on how it was loaded."""
    memory = {name: value for name, value in vars(session).items() if name not in NOT_COMPARED}
    # The order decides which entry is forgotten next.
    return {name: list(value.items()) if isinstance(value, dict) else value for name, value in memory.items()}


NOT_COMPARED = {"snapshot_version", "_pending_events", "_created_on"}


@given(st.lists(STEPS, min_size=1, max_size=25), st.lists(STEPS, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_session_from_a_snapshot_is_the_one_that_was_replayed(
    before: list[Told], after: list[Told]
) -> None:
    live = Telling()
    for step in [*before, EndTurn("stop")]:
        tell(live, step)
    if live.session is None:
        return
    snapshot = MAPPER.to_domain_event(MAPPER.to_stored_event(SessionSnapshot.of(live.session)))
    assert isinstance(snapshot, SessionSnapshot)
    restored, again = snapshot.mutate(None), replayed(live.events)

    assert memory_of(restored) == memory_of(again) == memory_of(live.session)
    assert restored.version == again.version
    told_before = len(live.outcomes)
    going_on = replace(live, session=restored, events=list(live.events), outcomes=[])
    for step in after:
        tell(live, step)
        tell(going_on, step)
    assert [outcome.decision for outcome in going_on.outcomes] == [
        outcome.decision for outcome in live.outcomes[told_before:]
    ]
    assert memory_of(restored) == memory_of(live.session)


def a_long_session(bench: Workbench, turns: int = 1) -> None:
    for turn in range(turns):
        for number in range(SNAPSHOT_EVERY_EVENTS // 2 + 1):
            call = shell(f"ls {number}", call_id=f"call {turn} {number}")
            bench.do(ReturnCalls((call,), whole_step=True))
        bench.do(EndTurn("stop"), delivery_id=f"end of turn {turn}")


def snapshots(bench: Workbench, version: int = STATE_VERSION) -> list[tuple[object, ...]]:
    return rows_of(bench.home.events, f"SELECT originator_version FROM stored_snapshots_{version}")


def without_first_events(bench: Workbench) -> None:
    with bench.store.recorder.datastore.transaction(commit=True) as cursor:  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM stored_events WHERE originator_version < 50")


def test_a_stream_keeps_its_newest_snapshot_alone(bench: Workbench) -> None:
    a_long_session(bench, turns=3)
    events = len(bench.topics())

    assert snapshots(bench) == [(events,)]


def test_a_long_session_is_read_from_its_snapshot_and_goes_on(bench: Workbench) -> None:
    a_long_session(bench)
    bench.do(SubmitPrompt("prompt", "go on", PromptKind.HUMAN))
    without_first_events(bench)
    with Workbench(bench.home) as restarted:
        again = restarted.do(EndTurn("stop"), delivery_id="end of turn 0")
        answer = restarted.do(EndTurn("stop"))

    assert "stored already" in again.dropped
    assert answer.events == 1
    assert bench.topics()[-2:] == ["prompt_submitted", "turn_ended"]


IN_A_PROCESS_OF_ITS_OWN = """
import json, sys
from pathlib import Path
from uuid import UUID
from eventsourcing.utils import resolve_topic
from tokeneconomizer.scheduler.application import Application
from tokeneconomizer.scheduler.home import Home
from tokeneconomizer.scheduler.store import EventStore

home, stream_id, *topics = sys.argv[1:]
store = EventStore(Home(Path(home)).events, b"")
print(json.dumps([store.repository.get(UUID(stream_id)).version, [resolve_topic(t).TOPIC for t in topics]]))
"""


def test_a_process_that_stored_nothing_yet_reads_snapshots_and_all_events(bench: Workbench) -> None:
    a_long_session(bench)
    # What was used is stored as it was read, and never asked for as a stream.
    topics = sorted(topic for topic in event_classes() if not topic.startswith("usage."))
    stream_id = str(Session.stream_id(SESSION))
    command = [sys.executable, "-I", "-c", IN_A_PROCESS_OF_ITS_OWN, str(bench.home.root), stream_id, *topics]
    told = subprocess.run(command, capture_output=True, text=True, check=True)

    assert snapshots(bench) == [(len(bench.topics()),)]
    assert json.loads(told.stdout) == [len(bench.topics()), topics]


@pytest.mark.parametrize(
    "change", ["state = '{}'", "state = 'no JSON'", "topic = 'session.unheard_of'", "state = x'ff'"]
)
def test_a_snapshot_that_cannot_be_read_is_passed_over(bench: Workbench, change: str) -> None:
    a_long_session(bench)
    with bench.store.recorder.datastore.transaction(commit=True) as cursor:  # type: ignore[attr-defined]
        cursor.execute(f"UPDATE stored_snapshots_{STATE_VERSION} SET {change}")
    with Workbench(bench.home) as restarted:
        again = restarted.do(EndTurn("stop"), delivery_id="end of turn 0")
        restarted.do(SubmitPrompt("prompt", "go on", PromptKind.HUMAN))

    assert "stored already" in again.dropped
    assert bench.topics()[-1] == "prompt_submitted"


def test_a_snapshot_of_another_state_is_passed_over(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_long_session(bench)
    with bench.store.recorder.datastore.transaction(commit=True) as cursor:  # type: ignore[attr-defined]
        cursor.execute(f"UPDATE stored_snapshots_{STATE_VERSION} SET state = '{{}}'")
    monkeypatch.setattr(store, "STATE_VERSION", STATE_VERSION + 1)
    with Workbench(bench.home) as newer:
        again = newer.do(EndTurn("stop"), delivery_id="end of turn 0")
        newer.do(SubmitPrompt("prompt", "go on", PromptKind.HUMAN))
        newer.do(EndTurn("stop"))

    assert "stored already" in again.dropped
    assert snapshots(bench, STATE_VERSION + 1) == [(len(bench.topics()),)]
