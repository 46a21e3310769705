import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.writers.edit_model import changed, undoing
from tokeneconomizer.writers.edits import AddElement, SetMember
from tokeneconomizer.writers.errors import WriteRefused
from tokeneconomizer.writers.ignore_lines import PATTERNS, IgnoreLines
from tokeneconomizer.writers.splices import make_all, take_back_all

LINES = IgnoreLines()

texts = st.lists(st.sampled_from(["a", "/x", "# note", ""]), max_size=5).map("\n".join)


@given(texts, st.sampled_from(["/x", "/y"]), st.booleans())
def test_a_line_is_added_and_taken_away(text: str, pattern: str, ends: bool) -> None:
    text += "\n" if ends else ""
    edits = [AddElement(PATTERNS, pattern)]
    splices = LINES.edit(text, edits)
    new = make_all(text, splices)
    value = LINES.parse(text)
    assert LINES.parse(new) == changed(value, edits)
    assert take_back_all(new, splices) == text
    undo = undoing(value, edits)
    assert LINES.parse(make_all(new, LINES.edit(new, undo))) == value


def test_nothing_else_is_done_to_lines() -> None:
    with pytest.raises(WriteRefused):
        LINES.edit("", [SetMember(("a",), 1)])
