from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from event_samples import event_classes, field_values
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import NOON, Row, add_rows, all_rows, make_store

from tokeneconomizer.projections.event_log import EventLog
from tokeneconomizer.projections.switch import open_view, rebuild, verify
from tokeneconomizer.projections.table import PROJECTIONS
from tokeneconomizer.projections.view import Projection

STREAMS = [digit * 32 for digit in "abc"]
TOPICS = sorted(event_classes())
# Most of what happens, happens in sessions.
OFTEN = [topic for topic in TOPICS if topic.startswith("session.")]

times = st.integers(0, 3 * 24 * 60).map(lambda minutes: NOON + timedelta(minutes=minutes))


@st.composite
def rows(draw: st.DrawFn) -> Row:
    topic = draw(st.sampled_from(OFTEN) | st.sampled_from(TOPICS))
    fields = dict(draw(field_values(topic)))
    state = None
    match draw(st.integers(0, 19)):
        case 0:
            topic = "test.unheard_of"
        case 1 if fields:
            del fields[draw(st.sampled_from(sorted(fields)))]
        case 2 if fields:
            fields[draw(st.sampled_from(sorted(fields)))] = draw(st.sampled_from([[], {}, 2**63, "x", None]))
        case 3:
            state = b"{"
    return Row(topic, fields, draw(st.sampled_from(STREAMS)), at=draw(times), state=state)


histories = st.lists(st.tuples(st.lists(rows(), max_size=8), st.integers(1, 5)), max_size=5)


@pytest.mark.parametrize("projection", PROJECTIONS, ids=lambda projection: projection.NAME)
@settings(max_examples=30, deadline=None)
@given(history=histories)
def test_a_rebuild_gives_the_rows_that_were_folded_piece_by_piece(
    projection: Projection, history: list[tuple[list[Row], int]]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        store = make_store(folder / "events.db")
        with EventLog(store) as log:
            for piece, batch in history:
                add_rows(store, piece)
                with open_view(folder, projection) as view:
                    view.catch_up(log, batch=batch, max_batches=2)
            with open_view(folder, projection) as view:
                view.catch_up(log, batch=3)
                live = all_rows(view.connection())
            assert verify(log, folder, projection).is_equal
            rebuild(log, folder, projection)
            with open_view(folder, projection) as view:
                assert all_rows(view.connection()) == live


def test_every_projection_has_a_name_of_its_own() -> None:
    assert len({projection.NAME for projection in PROJECTIONS}) == len(PROJECTIONS)
    assert all(projection.SCHEMA > 0 for projection in PROJECTIONS)
