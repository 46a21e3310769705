import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_spans import (
    MAX_DEPTH,
    MAX_INTEGER_DIGITS,
    MAX_TEXT_CHARACTERS,
    ObjectSpan,
    scan,
    spans_of,
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
documents = st.builds(
    lambda value, indent, raw: json.dumps(value, indent=indent, ensure_ascii=not raw),
    values,
    st.sampled_from([None, 0, 2, "\t"]),
    st.booleans(),
)


@st.composite
def nearly_json(draw: st.DrawFn) -> str:
    """Give a document with a stretch of it exchanged."""
    text = draw(documents)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    piece = draw(
        st.sampled_from(["", ",", "}", "]", "{", "[", '"', ":", "-", "0", "1e5", ".", "NaN", "\\", "\x00"])
    )
    return text[:start] + piece + text[end:]


soup = st.text('{}[]",:0123456789eE+-. \n\r\t\\utrfalsnN/I\x0b\xa0\u0663', max_size=20)


def refuse_constant(name: str) -> object:
    raise ValueError(name)


def without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)


@given(st.one_of(documents, nearly_json(), soup, st.text()))
def test_the_scanner_accepts_what_json_accepts_with_the_same_value(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse_constant, object_pairs_hook=without_duplicates)
    except ValueError:
        with pytest.raises(WriteRefused) as refused:
            scan(text)
        assert refused.value.reason is Reason.NOT_PARSABLE
    else:
        assert json.dumps(scan(text).value) == json.dumps(expected)


@given(documents)
def test_every_span_covers_the_text_of_its_value(text: str) -> None:
    for span in spans_of(scan(text)):
        assert json.dumps(json.loads(text[span.start : span.end])) == json.dumps(span.value)
        if isinstance(span, ObjectSpan):
            assert [json.loads(text[member.start : member.key_end]) for member in span.members] == [
                member.key for member in span.members
            ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        '{"deep": [{"a": 1, "a": 1}]}',
        '{"a": 1,}',
        "[1,]",
        '// note\n{"a": 1}',
        '{"a": 1 /* note */}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 01}',
        '{"a": 1.}',
        '{"a": +1}',
        '{"a": .5}',
        '{"a": "\n"}',
        '{"a": "\\x41"}',
        '{"a": "\\u 041"}',
        '{"a": "never closed',
        '{"a": 1} {"b": 2}',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        "[1 2]",
        "{1: 2}",
        "tru",
        "\ufeff\ufeff{}",
        '{"a": 1]',
        "-",
        "1" * (MAX_INTEGER_DIGITS + 1),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str) -> None:
    with pytest.raises(WriteRefused) as refused:
        scan(text)
    assert refused.value.reason is Reason.NOT_PARSABLE


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 300_000])
def test_nesting_beyond_the_limit_is_refused_at_once(opening: str, levels: int) -> None:
    with pytest.raises(WriteRefused, match="nested deeper"):
        scan(opening * levels)


def test_nesting_up_to_the_limit_is_read() -> None:
    assert len(list(spans_of(scan("[" * MAX_DEPTH + "]" * MAX_DEPTH)))) == MAX_DEPTH


def test_a_text_beyond_the_size_limit_is_refused() -> None:
    with pytest.raises(WriteRefused, match="longer than"):
        scan(" " * MAX_TEXT_CHARACTERS + "{}")


def test_a_long_unclosed_string_is_given_up_in_one_pass() -> None:
    with pytest.raises(WriteRefused, match="string is not closed"):
        scan('"' + "a\\n" * 500_000)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{\n  "a": 1,\n  oops\n}', "line 3, column 3"),
        ('{\r\n  "a": 1,\r\n  oops\r\n}', "line 3, column 3"),
        ("[1, x]", "line 1, column 5"),
    ],
)
def test_a_refusal_names_the_place_and_repeats_nothing_of_the_text(text: str, place: str) -> None:
    with pytest.raises(WriteRefused) as refused:
        scan(text)
    assert refused.value.detail.startswith(place)
    assert "oops" not in str(refused.value)


def test_offsets_count_the_byte_order_mark() -> None:
    span = scan('\ufeff{"a": 1}')
    assert (span.start, span.end) == (1, 9)
