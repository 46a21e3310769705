import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.writers.applied import Applied, digest
from tokeneconomizer.writers.edits import AddElement, RemoveMember, SwapBack
from tokeneconomizer.writers.errors import BrokenUndoRecord
from tokeneconomizer.writers.splices import Splice

splices = st.lists(st.builds(Splice, st.integers(0, 9), st.text(), st.text()), max_size=3).map(tuple)
undo = st.lists(
    st.sampled_from(
        [RemoveMember(("a", "b")), AddElement(("c",), {"d": [1, None]}), SwapBack(("e",), 1, "two")]
    )
).map(tuple)
hashes = st.sampled_from(["", digest(b"one"), digest(b"two")])
records = st.builds(Applied, splices, undo, hashes, hashes, st.integers(0, 3))


@given(records)
def test_a_record_is_read_back_as_it_was_stored(record: Applied) -> None:
    assert Applied.from_json(record.to_json()) == record


RECORD = json.loads(Applied((Splice(1, "", "x"),), (RemoveMember(("a",)),), "", digest(b"x"), 1).to_json())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        *(json.dumps({key: value for key, value in RECORD.items() if key != gone}) for gone in RECORD),
        json.dumps(RECORD | {"splices": [[1, "", ""], [2, ""]]}),
        json.dumps(RECORD | {"splices": [[-1, "", ""]]}),
        json.dumps(RECORD | {"undo": [{}]}),
        json.dumps(RECORD | {"created_folders": -1}),
    ],
)
def test_a_broken_record_is_refused(text: str) -> None:
    with pytest.raises(BrokenUndoRecord):
        Applied.from_json(text)


def test_a_splice_is_not_taken_back_from_another_text() -> None:
    with pytest.raises(BrokenUndoRecord):
        Splice(1, "", "ours").take_back("theirs")
