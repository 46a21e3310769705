from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.character_pairs import pairs_in, pairs_of

TEXTS = st.text(alphabet="ab =:[]09é✖\t\n%", max_size=40)


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_that_holds_a_needle_has_all_its_pairs(before: str, needle: str, after: str) -> None:
    assert pairs_of(needle) <= pairs_in(f"{before}{needle}{after}")


@given(st.text(), st.text(), st.text())
def test_the_same_holds_for_any_characters(before: str, needle: str, after: str) -> None:
    assert pairs_of(needle) <= pairs_in(f"{before}{needle}{after}")


@pytest.mark.parametrize(
    ("needle", "text"),
    [("failed", "all passed"), ("FAILED", "failed"), ("Tests:", "tests:"), ("[  PASSED", "[ 41%] PASSES")],
)
def test_most_needles_that_are_not_there_are_told_apart(needle: str, text: str) -> None:
    assert not pairs_of(needle) <= pairs_in(text)
