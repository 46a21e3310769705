import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import pytest
from sessions import Telling, edit, shell
from stores import NOON, Row, add_rows, make_store, row_of, topic_of

from tokeneconomizer.domain.commands import Compact, EndSession, PromptKind
from tokeneconomizer.domain.guard.limits import NOT_STUCK, STUCK
from tokeneconomizer.domain.session import Session
from tokeneconomizer.domain.session_events import SessionEvent
from tokeneconomizer.projections import counters
from tokeneconomizer.projections.counters import Counts
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View, create_view

FAILING = shell("make check", "Error: no rule to make target", failed=True)


class Folded:
    """A store and its counters."""

    def __init__(self, folder: Path) -> None:
        self.store = make_store(folder / "events.db")
        create_view(folder / "counters.db", counters)
        self.view = View(folder / "counters.db", counters)

    def add(self, *rows: Row) -> sqlite3.Connection:
        add_rows(self.store, rows)
        with EventLog(self.store) as log:
            self.view.catch_up(log)
        assert self.view.set_aside() == []
        return self.view.connection()


@pytest.fixture
def folded(tmp_path: Path) -> Iterator[Folded]:
    folded = Folded(tmp_path)
    yield folded
    folded.view.close()


def rows_of(telling: Telling) -> list[Row]:
    return [*map(row_of, telling.events)]


def circling_session() -> Telling:
    telling = Telling()
    telling.start()
    telling.prompt()
    for _ in range(8):
        telling.step(FAILING)
    return telling


def not_zero(counts: Counts) -> dict[str, int]:
    return {name: value for name, value in asdict(counts).items() if value}


def started(stream: str, host: str = "h", repository: str = "r", agent_id: str = "") -> Row:
    fields = {
        "host": host,
        "session_id": f"session-{stream[0]}",
        "agent_id": agent_id,
        "repository": repository,
        "checkout": "/c",
    }
    return Row("session.started", fields, stream)


def test_an_empty_view_counts_nothing(folded: Folded) -> None:
    connection = folded.add()
    assert counters.totals(connection) == Counts()
    assert counters.by_repository(connection) == []
    assert counters.sessions(connection) == []


def test_everything_that_a_session_does_is_counted(folded: Folded) -> None:
    telling = Telling()
    telling.start()
    telling.prompt()
    telling.step(shell("ls", "a"), edit("a.py", "x", error="denied"))
    telling.step(FAILING)
    telling.step(shell("cat a", "a"), whole_step=False)
    telling.step(shell("cat b", "b"), whole_step=False)
    telling.tell(Compact("auto", 100))
    telling.stop()
    telling.prompt("and now", PromptKind.MACHINE)
    telling.tell(EndSession("exit"))
    helper = Telling(replace(telling.key, agent_id="agent-1"))
    helper.start()
    connection = folded.add(*rows_of(telling), *rows_of(helper))
    assert not_zero(counters.totals(connection)) == {
        "sessions": 1,
        "sub_agents": 1,
        "prompts_human": 1,
        "prompts_machine": 1,
        "calls": 5,
        "failed": 1,
        "never_ran": 1,
        "steps": 3,
        "turns_unverified": 1,
        "turns_red": 1,
        "compactions": 1,
    }


@pytest.mark.parametrize("outcome", ["green", "unverified", "red"])
def test_turns_are_counted_by_outcome(folded: Folded, outcome: str) -> None:
    connection = folded.add(started("a" * 32), Row("session.turn_ended", {"turn": 1, "outcome": outcome}))
    assert not_zero(counters.totals(connection)) == {"sessions": 1, f"turns_{outcome}": 1}


def test_redirects_and_hints_are_counted(folded: Folded) -> None:
    telling = circling_session()
    counts = counters.totals(folded.add(*rows_of(telling)))
    assert (counts.redirects, counts.hints) == (len(telling.of("redirected")), len(telling.of("stop_hinted")))
    assert counts.redirects
    assert counts.hints


@pytest.mark.parametrize(
    ("topic", "counter"),
    [
        ("session.redirected", "redirects"),
        ("session.stop_hinted", "hints"),
        ("session.facts_injected", "injections"),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_what_did_not_reach_the_agent_is_taken_back_once(
    folded: Folded, topic: str, counter: str, times: int
) -> None:
    later = NOON + timedelta(days=1)
    failed = Row("session.delivery_failed", {"failed_topic": topic, "failed_version": 2}, at=later)
    said = Row(topic, {"rule": "same_call"})
    before = folded.add(started("a" * 32), said, said)
    assert getattr(counters.totals(before), counter) == 2
    connection = folded.add(*[failed] * times)
    counts = counters.totals(connection)
    assert getattr(counts, counter) == 1
    assert counts.delivery_failures == times
    assert sum(counters.redirects_by_rule(connection).values()) == counts.redirects
    days = connection.execute(f"SELECT day, {counter}, delivery_failures FROM counts ORDER BY day").fetchall()
    assert [tuple(day) for day in days] == [("2026-01-05", 1, 0), ("2026-01-06", 0, times)]


def test_a_failed_delivery_that_names_nothing_takes_nothing_back(folded: Folded) -> None:
    connection = folded.add(
        started("a" * 32),
        started("b" * 32),
        Row("session.redirected", {"rule": "cycle"}, "a" * 32),
        Row("session.delivery_failed", {"failed_topic": "x", "failed_version": 2}, "b" * 32),
        Row("session.delivery_failed", {"failed_topic": "x", "failed_version": 1}, "a" * 32),
    )
    assert counters.totals(connection).redirects == 1
    assert counters.redirects_by_rule(connection) == {"cycle": 1}


def test_gates_questions_and_verdicts_are_counted(folded: Folded) -> None:
    verdicts = [Row("session.verdict_given", {"verdict": verdict}) for verdict in (STUCK, NOT_STUCK)]
    asked = [Row("session.judge_asked")] * 2
    connection = folded.add(started("a" * 32), Row("session.gate_fired"), *asked, *verdicts)
    counts = counters.totals(connection)
    assert (counts.gates, counts.judge_calls, counts.verdicts, counts.verdicts_stuck) == (1, 2, 2, 1)


def test_counts_are_kept_by_host_and_repository(folded: Folded) -> None:
    connection = folded.add(
        started("a" * 32, "host-1", "repository-1"),
        started("b" * 32, "host-1", "repository-2"),
        started("c" * 32, "host-2", "repository-1"),
    )
    one, two = Counts(sessions=1), Counts(sessions=2)
    assert counters.totals(connection, host="host-1") == two
    assert counters.totals(connection, repository="repository-1") == two
    assert counters.totals(connection, host="host-1", repository="repository-2") == one
    assert counters.totals(connection, host="absent") == Counts()
    assert [(line.repository, line.counts) for line in counters.by_repository(connection)] == [
        ("repository-1", two),
        ("repository-2", one),
    ]
    assert [line.counts for line in counters.by_repository(connection, host="host-2")] == [one]


def test_sessions_are_listed_by_their_newest_event(folded: Folded) -> None:
    connection = folded.add(
        started("a" * 32),
        started("b" * 32),
        started("c" * 32, agent_id="agent-1"),
        Row("session.ended", {}, "b" * 32, at=NOON + timedelta(hours=1)),
        Row("session.prompt_submitted", {"turn": 1, "kind": "human"}, at=NOON + timedelta(hours=2)),
        Row("session.compacted", {}, at=NOON - timedelta(hours=2)),
    )
    working, ended = counters.sessions(connection)
    assert (working.session_id, working.state, working.turn, working.turn_is_open) == (
        "session-a",
        "working",
        1,
        True,
    )
    assert working.started_at == NOON.isoformat()
    assert working.last_at == (NOON + timedelta(hours=2)).isoformat()
    assert (ended.session_id, ended.state, ended.turn_is_open) == ("session-b", "ended", False)
    assert counters.sessions(connection, limit=1) == [working]


def test_a_session_stands_where_the_domain_says(folded: Folded) -> None:
    telling = circling_session()
    telling.stop()
    telling.prompt("again")
    for _ in range(4):
        telling.step(FAILING)
    lose(telling, telling.of("redirected")[-1])
    telling.step(FAILING)
    telling.tell(EndSession("exit"))
    telling.start("resume")
    telling.step(FAILING)
    session: Session | None = None
    states = set()
    for event in telling.events:
        session = event.mutate(session)
        assert session is not None
        (line,) = counters.sessions(folded.add(row_of(event)))
        assert line.state == session.phase.value
        assert (line.turn, line.turn_is_open) == (session.turn.number, session.turn.is_open)
        states.add(line.state)
    assert states == {"idle", "working", "redirected", "stuck", "ended", "archived"}


def lose(telling: Telling, said: SessionEvent) -> None:
    """Let it be known that an answer did not reach the agent."""
    assert telling.session is not None
    telling.session.trigger_event(
        Session.DeliveryFailed,
        timestamp=telling.at,
        delivery_id="",
        failed_topic=topic_of(said),
        failed_version=said.originator_version,
        reason="no confirmation",
    )
    telling.events += telling.session.collect_events()  # type: ignore[arg-type]


def test_events_of_other_aggregates_are_passed_over(folded: Folded) -> None:
    connection = folded.add(Row("setup.opened", {"host": "h"}), Row("usage.recorded", {}))
    assert counters.totals(connection) == Counts()
    assert folded.view.position() == 2


def test_a_session_whose_start_is_lost_is_counted_without_a_name(folded: Folded) -> None:
    connection = folded.add(Row("session.compacted", {}, version=7))
    assert counters.by_repository(connection)[0].repository == ""
    assert counters.totals(connection).compactions == 1


@pytest.mark.parametrize(
    "row",
    [
        Row("session.tool_returned", {"status": "unheard of"}),
        Row("session.tool_called", {"turn": 1, "step": "one"}),
        Row("session.prompt_submitted", {"turn": 1, "kind": "x"}),
        Row("session.turn_ended", {"turn": 1}),
        Row("session.started", {}, "b" * 32),
    ],
)
def test_an_event_of_another_shape_is_set_aside_and_changes_nothing(tmp_path: Path, row: Row) -> None:
    folded = Folded(tmp_path)
    before = counters.totals(folded.add(started("a" * 32, agent_id="")))
    add_rows(folded.store, [row])
    with EventLog(folded.store) as log:
        folded.view.catch_up(log)
    assert [aside.topic for aside in folded.view.set_aside()] == [row.topic]
    assert counters.totals(folded.view.connection()) == before
    folded.view.close()
