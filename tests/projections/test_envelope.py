"""What green turns take: counted alike live, imported, and in any order (S2 of the envelope, S4.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Telling, edit, shell
from stores import NOON, Row, add_rows, make_store, row_of

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.guard.envelope import Envelope
from tokeneconomizer.projections import envelope
from tokeneconomizer.projections.envelope import Place
from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.view import View, create_view

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

PLACE = Place("example.org/team/project", "claude_code")
STREAMS = ["a" * 32, "b" * 12 + "8" + "b" * 19]
"""A watched stream, and one of imported history."""


def folded(folder: Path, rows: list[Row], batch: int = 5_000) -> dict[Place, Envelope]:
    store = make_store(folder / "events.db")
    add_rows(store, rows)
    create_view(folder / "envelope.db", envelope)
    with EventLog(store) as log, View(folder / "envelope.db", envelope) as view:
        view.catch_up(log, batch=batch)
        assert view.set_aside() == []
        return envelope.envelopes(view.connection())


def started(stream: str, place: Place = PLACE) -> Row:
    return Row("session.started", place._asdict(), stream)


def ended(calls: int, stream: str = STREAMS[0], outcome: str = "green", turn: int = 1) -> Row:
    fields = {
        "turn": turn,
        "outcome": outcome,
        "calls": calls,
        "failures": 1,
        "edits": 2,
        "duration_ms": 90_000,
    }
    return Row("session.turn_ended", fields, stream)


def test_nothing_is_known_before_a_turn_ended_green(tmp_path: Path) -> None:
    assert (
        folded(tmp_path, [started(STREAMS[0]), ended(3, outcome="red"), ended(3, outcome="unverified")]) == {}
    )


def test_the_usual_is_what_nine_of_ten_turns_stay_within(tmp_path: Path) -> None:
    rows = [started(STREAMS[0]), *(ended(calls) for calls in [*range(1, 10), 10_000])]

    assert folded(tmp_path, rows) == {PLACE: Envelope(10, calls=9, failures=1, edits=2, minutes=2)}


def test_a_told_session_is_folded_as_it_went(tmp_path: Path) -> None:
    told = Telling()
    told.start()
    told.prompt()
    told.step(shell("pytest", "1 failed in 1s", failed=True))
    told.step(edit("a.py", "x"))
    told.step(shell("pytest", "1 passed in 1s"))
    told.stop()

    assert folded(tmp_path, [*map(row_of, told.events)]) == {
        PLACE: Envelope(1, calls=3, failures=1, edits=1, minutes=1)
    }


def test_a_turn_that_no_person_asked_for_does_not_count(tmp_path: Path) -> None:
    told = Telling()
    told.prompt("go on", PromptKind.MACHINE)
    told.step(shell("pytest", "1 passed in 1s"))
    told.stop()

    assert folded(tmp_path, [*map(row_of, told.events)]) == {}


def test_repositories_and_agents_are_kept_apart_and_history_joins_what_is_watched(tmp_path: Path) -> None:
    other = Place(PLACE.repository, "codex")
    rows = [
        *map(started, STREAMS),
        started("c" * 32, other),
        *(ended(calls, stream) for calls, stream in zip((3, 5), STREAMS, strict=True)),
        ended(70, "c" * 32),
    ]
    found = folded(tmp_path, rows)

    assert {place: (known.green_turns, known.calls) for place, known in found.items()} == {
        PLACE: (2, 5),
        other: (1, 70),
    }


def test_a_turn_of_a_session_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    assert folded(tmp_path, [ended(3)]) == {}


TURNS = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from(STREAMS), st.integers(0, 9)), min_size=1, max_size=30
)


@given(TURNS, st.randoms(), st.integers(1, 7))
@settings(deadline=None, max_examples=25)
def test_neither_the_order_of_turns_nor_the_size_of_batches_matters(
    tmp_path_factory: pytest.TempPathFactory,
    turns: list[tuple[int, str, int]],
    random: st.DataObject,
    batch: int,
) -> None:
    rows = [
        Row(row.topic, row.fields, row.stream, at=NOON + timedelta(days=days))
        for calls, stream, days in turns
        for row in [ended(calls, stream)]
    ]
    begun = [*map(started, STREAMS)]
    in_order = folded(tmp_path_factory.mktemp("in_order"), [*begun, *rows])
    random.shuffle(rows)  # type: ignore[attr-defined]

    assert folded(tmp_path_factory.mktemp("shuffled"), [*begun, *rows], batch) == in_order
