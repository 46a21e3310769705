from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from stores import NOON, Row, add_rows, make_store

from tokeneconomizer.projections import accounting
from tokeneconomizer.projections.accounting import ReportedUsage, newest_turn, session_sums
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View, create_view

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

SNAPSHOT = '{"entries":{},"producedBy":"claude_code","unsupported":[]}'
MAIN = "a" * 32
OTHER = "b" * 32
SUB_AGENT = "c" * 32
USAGE = "d" * 32


class Folded:
    """A store and its accounting."""

    def __init__(self, folder: Path) -> None:
        self.store = make_store(folder / "events.db")
        create_view(folder / "accounting.1.db", accounting)
        self.view = View(folder / "accounting.1.db", accounting)

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


def started(stream: str = MAIN, session_id: str = "session-1", agent_id: str = "") -> Row:
    fields = {"host": "claude_code", "session_id": session_id, "agent_id": agent_id}
    return Row("session.started", fields, stream)


def turn(number: int, minute: int, stream: str = MAIN, snapshot: str | None = SNAPSHOT) -> list[Row]:
    """A turn of thirty seconds that ends at so many minutes after noon."""
    at = NOON + timedelta(minutes=minute)
    ended = Row("session.turn_ended", {"turn": number, "duration_ms": 30_000}, stream, at=at)
    if snapshot is None:
        return [ended]
    accounted = {"turn": number, "snapshot": snapshot}
    return [ended, Row("session.context_accounted", accounted, stream, at=at)]


def usage_opened() -> Row:
    return Row("usage.opened", {"host": "claude_code", "session_id": "session-1"}, USAGE)


def reply(seconds: int, sub_agent: str = "", message_id: str = "", **tokens: int | None) -> Row:
    fields = dict.fromkeys(
        (
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_5m_tokens",
            "cache_write_1h_tokens",
        )
    )
    fields |= {f"{name}_tokens": amount for name, amount in tokens.items()}
    at = NOON + timedelta(seconds=seconds)
    about = {"message_id": message_id or f"message-{seconds}", "sub_agent": sub_agent}
    return Row("usage.recorded", {**fields, **about}, USAGE, at=at)


def test_the_newest_turn_of_a_main_agent_is_found_by_session_or_at_all(folded: Folded) -> None:
    connection = folded.add(
        started(),
        *turn(1, 1),
        *turn(2, 2),
        started(OTHER, "session-2"),
        *turn(1, 3, OTHER),
        started(SUB_AGENT, "session-1", "agent-1"),
        *turn(1, 4, SUB_AGENT),
    )
    newest = newest_turn(connection)
    named = newest_turn(connection, "session-1")
    assert newest is not None
    assert named is not None
    assert (newest.session_id, newest.turn) == ("session-2", 1)
    assert (named.session_id, named.turn, named.snapshot, named.usage) == ("session-1", 2, SNAPSHOT, None)
    assert newest_turn(connection, "nobody") is None


def test_a_turn_that_was_not_accounted_is_no_answer(folded: Folded) -> None:
    connection = folded.add(started(), *turn(1, 1), *turn(2, 2, snapshot=None))
    found = newest_turn(connection)
    assert found is not None
    assert found.turn == 1
    assert session_sums(connection, "claude_code", "session-1").turns == 1


def test_a_turns_usage_is_that_of_its_last_reply_and_of_no_sub_agent(folded: Folded) -> None:
    connection = folded.add(
        started(),
        *turn(1, 2),
        usage_opened(),
        reply(60, input=1, output=1),
        reply(95, input=7, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5),
        reply(100, "agent-1", input=900, output=900),
        reply(200, input=800, output=800),
    )
    found = newest_turn(connection)
    assert found is not None
    assert found.usage == ReportedUsage(input=7, output=2, cache_read=3, cache_write=9)


def test_usage_that_is_told_before_or_after_its_turn_comes_to_the_same(folded: Folded) -> None:
    folded.add(usage_opened(), reply(95, input=7))
    connection = folded.add(started(), *turn(1, 2))
    found = newest_turn(connection)
    assert found is not None
    assert found.usage == ReportedUsage(input=7, output=None, cache_read=None, cache_write=None)


def test_a_sessions_sums_hold_its_sub_agents_and_say_what_no_reply_tells(folded: Folded) -> None:
    connection = folded.add(
        usage_opened(), reply(1, input=5, output=1), reply(2, "agent-1", input=6, output=None)
    )
    sums = session_sums(connection, "claude_code", "session-1")
    assert (sums.turns, sums.replies) == (0, 2)
    assert sums.usage == ReportedUsage(input=11, output=1, cache_read=None, cache_write=None)


def test_a_reply_that_grew_counts_once_with_its_newest_numbers(folded: Folded) -> None:
    folded.add(usage_opened(), reply(1, message_id="a", input=5, output=1), reply(2, input=1))
    connection = folded.add(reply(1, message_id="a", input=5, output=90))
    sums = session_sums(connection, "claude_code", "session-1")
    assert (sums.replies, sums.usage.input, sums.usage.output) == (2, 6, 90)


def test_a_turn_that_is_accounted_again_has_its_last_snapshot(folded: Folded) -> None:
    again = Row("session.context_accounted", {"turn": 1, "snapshot": "{}"}, MAIN)
    found = newest_turn(folded.add(started(), *turn(1, 1), *turn(2, 2), again), "session-1")
    assert found is not None
    assert (found.turn, found.snapshot) == (2, SNAPSHOT)
    assert folded.view.connection().execute("SELECT snapshot FROM turns WHERE turn = 1").fetchone()[0] == "{}"
