"""JSON with comments: read around them, edited beside them, and given back byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commented_json import strict
from tokeneconomizer.writers.edit_model import changed
from tokeneconomizer.writers.edits import AddElement, Edit, RemoveElement, RemoveMember, SetMember
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.json_with_comments import JSON_WITH_COMMENTS
from tokeneconomizer.writers.splices import make_all, take_back_all
from tokeneconomizer.writers.strict_json import STRICT_JSON

OURS = SetMember(("enabledPlugins", "ours@ours"), value=True)

COMMENTED = """// mine
{
  "theme": "dark", // keep
  /* and this */
  "enabledPlugins": { "other@market": false, },
  "url": "http://x//y", // "no": "member"
}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("{}", {}),
        ("// c", {}),
        ("// only a comment\n{} // and another", {}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2 , ], }', {"a": [1, 2]}),
        ('{"a": "// no comment, }"}', {"a": "// no comment, }"}),
        ('{"a": "\\\\" /* c */, "b": {} , // d\r\n}', {"a": "\\", "b": {}}),
        ("/* a ** b */{/**/}", {}),
        (COMMENTED, {"theme": "dark", "enabledPlugins": {"other@market": False}, "url": "http://x//y"}),
    ],
)
def test_comments_and_last_commas_are_passed_over(text: str, value: object) -> None:
    assert JSON_WITH_COMMENTS.parse(text) == value


@pytest.mark.parametrize("text", ["{,}", "[1]", '{"a": 1,,}', "{/*}", '{"a": /}', "{a: 1}", '{"a":,}'])
def test_what_no_reader_takes_is_refused(text: str) -> None:
    with pytest.raises(WriteRefused) as refused:
        JSON_WITH_COMMENTS.parse(text)
    assert refused.value.reason is Reason.NOT_PARSABLE


def test_an_edit_keeps_every_comment_and_is_taken_back_byte_for_byte() -> None:
    splices = JSON_WITH_COMMENTS.edit(COMMENTED, [OURS, SetMember(("new",), {"a": [1]})])
    text = make_all(COMMENTED, splices)

    assert [line for line in COMMENTED.splitlines() if line not in text] == [
        '  "enabledPlugins": { "other@market": false, },',
        '  "url": "http://x//y", // "no": "member"',
    ]
    assert all(comment in text for comment in ("// mine", "// keep", "/* and this */", '// "no": "member"'))
    assert JSON_WITH_COMMENTS.parse(text)["enabledPlugins"] == {"other@market": False, "ours@ours": True}
    assert JSON_WITH_COMMENTS.parse(text)["new"] == {"a": [1]}
    assert take_back_all(text, splices) == COMMENTED


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ('{"a": { /* mine */ "b": 1 }}', SetMember(("a",), 1)),
        ('{"a": 1, /* of b */ "b": 2, "c": 3}', RemoveMember(("b",))),
        ("// mine", OURS),
        ("{ /* mine */ }", OURS),
    ],
)
def test_an_edit_that_would_move_a_comment_is_refused(text: str, edit: Edit) -> None:
    with pytest.raises(WriteRefused) as refused:
        JSON_WITH_COMMENTS.edit(text, [edit])
    assert refused.value.reason is Reason.UNPROVEN_EDIT


@pytest.mark.parametrize(
    ("text", "empty"), [("", True), ("{}", True), ("{ }\n", True), ("{} // mine", False), ('{"a": 1}', False)]
)
def test_a_comment_keeps_a_file(text: str, empty: bool) -> None:
    assert JSON_WITH_COMMENTS.is_empty(text) is empty


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='ab/*,"\\{}[]', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text('abc/*,"', max_size=3), values, max_size=4)
edits = st.one_of(
    st.builds(SetMember, st.just(("a", "b")), values),
    st.builds(RemoveMember, st.just(("a",))),
    st.builds(AddElement, st.just(("c",)), values),
    st.builds(RemoveElement, st.just(("c",)), values),
)


@given(documents, st.sampled_from([None, 2]))
def test_strict_json_is_left_as_it_is(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert strict(text) == text


@given(documents, st.lists(edits, max_size=3))
def test_edits_around_comments_are_those_of_strict_json_or_refused(
    value: dict[str, object], edits: list[Edit]
) -> None:
    lines = json.dumps(value, indent=2).split("\n")
    text = "\n".join(f"{line} // {number} {{" for number, line in enumerate(lines))
    try:
        wanted = changed(STRICT_JSON.parse(json.dumps(value)), edits)
        splices = JSON_WITH_COMMENTS.edit(text, edits)
    except WriteRefused:
        return
    new = make_all(text, splices)

    assert JSON_WITH_COMMENTS.parse(new) == wanted
    assert all(f"// {number} {{" in new for number in range(len(lines)))
    assert take_back_all(new, splices) == text


@given(st.text(alphabet='{}[],:"/*\\ab1 \n', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert len(strict(text)) == len(text)
    try:
        JSON_WITH_COMMENTS.parse(text)
    except WriteRefused:
        return
