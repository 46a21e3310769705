from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.accounting.json_text import json_text, utf16_length
from tokeneconomizer.domain.errors import BadAccounting

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (100, "100"),
        (123.456, "123.456"),
        (-2.5, "-2.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-10, "-1.5e-10"),
        (5e-324, "5e-324"),
        (2**53, "9007199254740992"),
        (12345678901234567890, "12345678901234567000"),
        (10**400, "null"),
        (float("inf"), "null"),
        (float("nan"), "null"),
        (None, "null"),
        (True, "true"),
        ("é 文 😀", '"é 文 😀"'),
        ('"\\/\b\f\n\r\t\x01\x7f', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f"'),
        ("\u2028", '"\u2028"'),
        ("\ud83d", '"\\ud83d"'),
        ("\ude00\ud83d", '"\\ude00\\ud83d"'),
        ("\ud83d\ude00", '"\ud83d\ude00"'),
        ({"b": [1, {}], "a": []}, '{"b":[1,{}],"a":[]}'),
        ((1, "x"), '[1,"x"]'),
        ("", '""'),
    ],
)
def test_a_value_is_printed_as_javascript_prints_it(value: object, printed: str) -> None:
    assert json_text(value) == printed


@given(VALUES)
def test_what_is_printed_reads_back_as_the_same_value(value: object) -> None:
    read = json.loads(json_text(value), parse_int=float)
    assert read == json.loads(json.dumps(value), parse_int=float)


@given(VALUES)
def test_what_is_printed_is_compact_and_keeps_its_order(value: object) -> None:
    assert json_text(json.loads(json_text(value))) == json_text(value)


def test_input_may_be_nested_deeper_than_python_calls() -> None:
    value: object = 1
    for _ in range(50_000):
        value = [value]
    assert json_text(value) == "[" * 50_000 + "1" + "]" * 50_000


@pytest.mark.parametrize("value", [{1: "x"}, {"a": object()}, [b"bytes"], {"a": {1, 2}}])
def test_what_is_no_json_is_refused_in_words(value: object) -> None:
    with pytest.raises(BadAccounting, match="give JSON values"):
        json_text(value)


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("é", 1), ("文字", 2), ("😀", 2), ("\ud83d", 1), ("a😀b", 4)]
)
def test_lengths_are_those_of_javascript(text: str, length: int) -> None:
    assert utf16_length(text) == length
