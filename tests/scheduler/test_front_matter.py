from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.scheduler.front_matter import declared_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("---\nname: review\ndescription: Reads code.\n---\nbody", "review"),
        ("\ufeff---\r\nname: review\r\n---\r\n", "review"),
        ('---\nname: "Code Review"\n---\n', "Code Review"),
        ("---\nname: >\n  code\n  review\n---\n", "code review"),
        ("---\ndescription: Use it: always\nname: 'review'\n---\n", "review"),
        ("---\nname: review\n", ""),
        ("name: review\n---\n", ""),
        ("---\nname:\n---\n", ""),
        ("---\nname: [a]\n---\n", ""),
        ("---\n- name\n---\n", ""),
        ("---\n---\n", ""),
        ("# A heading\n---\nname: review\n---\n", ""),
        ("", ""),
    ],
)
def test_the_name_is_what_the_front_matter_declares(text: str, name: str) -> None:
    assert declared_name(text.encode()) == name


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: f"---\n{text}\n---\n".encode()))
def test_whatever_stands_there_gives_a_name_on_one_line_or_none(beginning: bytes) -> None:
    assert "\n" not in declared_name(beginning)
