import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.writers.edit_model import changed, undoing
from tokeneconomizer.writers.edits import (
    JSON,
    AddElement,
    Document,
    Edit,
    PutBack,
    RemoveElement,
    RemoveEmpty,
    RemoveMember,
    SetMember,
    SwapBack,
    edit_from_json,
    edit_to_json,
    same_value,
)
from tokeneconomizer.writers.errors import BrokenUndoRecord, Reason, WriteRefused
from tokeneconomizer.writers.json_edits import apply, is_blank, plan
from tokeneconomizer.writers.json_spans import BYTE_ORDER_MARK, ObjectSpan, scan
from tokeneconomizer.writers.splices import make_all, take_back_all
from tokeneconomizer.writers.strict_json import STRICT_JSON

KEYS = ["a", "b", "c", "permissions", "x y", "ü\U0001f600", 'quo"te', "\n", ""]

scalars: st.SearchStrategy[JSON] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 1),
    st.just(2**53 + 1),
    st.sampled_from([0.0, 1.0, -0.0, 1.5e300]),
    st.text(max_size=3),
)
values: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=8,
)
objects: st.SearchStrategy[Document] = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
paths = st.lists(st.sampled_from(KEYS[:5]), min_size=1, max_size=3).map(tuple)
edits: st.SearchStrategy[Edit] = st.one_of(
    st.builds(SetMember, paths, values),
    st.builds(RemoveMember, paths),
    st.builds(AddElement, paths, values),
    st.builds(RemoveElement, paths, scalars),
    st.builds(PutBack, paths, values),
    st.builds(SwapBack, paths, scalars, values),
    st.builds(RemoveEmpty, paths),
)


def render_wildly(value: JSON, random: Random) -> str:
    """Write a value with white space, escapes and numbers as no serialiser would."""

    def space() -> str:
        return random.choice(["", "", " ", "\n", "\t", "\r\n  "])

    def item(key: str, inner: JSON) -> str:
        return space() + render_wildly(key, random) + space() + ":" + space() + render_wildly(inner, random)

    if isinstance(value, dict):
        inside = ",".join(item(key, inner) + space() for key, inner in value.items())
        return "{" + (inside or space()) + "}"
    if isinstance(value, list):
        return (
            "["
            + (",".join(space() + render_wildly(inner, random) + space() for inner in value) or space())
            + "]"
        )
    return json.dumps(value, ensure_ascii=random.choice([True, False]))


@st.composite
def texts(draw: st.DrawFn, documents: st.SearchStrategy[Document] = objects) -> str:
    """Give an object in some layout, wild or usual, with any line ending, BOM and end of file."""
    value, random = draw(documents), draw(st.randoms(use_true_random=False))
    layout = draw(st.sampled_from(["wild", "compact", "one line", "  ", "\t", ""]))
    match layout:
        case "wild":
            text = render_wildly(value, random)
        case "compact":
            text = json.dumps(value, separators=(",", ":"))
        case "one line":
            text = json.dumps(value, ensure_ascii=False)
        case _:
            text = json.dumps(value, indent=layout)
    if draw(st.booleans()):
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return (
        draw(st.sampled_from(["", BYTE_ORDER_MARK]))
        + text
        + draw(st.sampled_from(["", "\n", "\r\n", " \n\n"]))
    )


blank_texts = st.builds(
    str.__add__, st.sampled_from(["", BYTE_ORDER_MARK]), st.sampled_from(["", "\n", " \r\n"])
)
any_text = st.one_of(texts(), texts(), texts(), blank_texts)


def expected(text: str, wanted: list[Edit]) -> Document | None:
    """Give the value after the edits, or None if they cannot be made."""
    try:
        return changed(STRICT_JSON.parse(text), wanted)
    except WriteRefused:
        return None


@given(any_text, st.lists(edits, max_size=4))
def test_the_value_after_an_edit_is_the_models(text: str, wanted: list[Edit]) -> None:
    model = expected(text, wanted)
    if model is None:
        with pytest.raises(WriteRefused) as refused:
            apply(text, wanted)
        assert refused.value.reason is Reason.UNPROVEN_EDIT
    else:
        assert json.dumps(STRICT_JSON.parse(apply(text, wanted))) == json.dumps(model)


@given(any_text, st.lists(edits, max_size=4))
def test_taking_the_splices_back_gives_the_same_text(text: str, wanted: list[Edit]) -> None:
    if expected(text, wanted) is not None:
        splices = plan(text, wanted)
        assert take_back_all(make_all(text, splices), splices) == text


@given(texts(), edits)
def test_members_off_the_path_keep_their_text(text: str, wanted: Edit) -> None:
    if expected(text, [wanted]) is None:
        return
    before, new = scan(text), apply(text, [wanted])
    after = scan(new)
    assert isinstance(before, ObjectSpan)
    assert isinstance(after, ObjectSpan)
    for old in before.members:
        if old.key != wanted.path[0]:
            kept = after.find(old.key)
            assert kept is not None
            assert new[kept.start : kept.end] == text[old.start : old.end]
    assert new[after.end :] == text[before.end :]
    assert new[: after.start] == text[: before.start]


@given(texts(), st.text("pqr", min_size=1, max_size=2), values)
def test_a_member_added_to_others_and_removed_by_key_leaves_the_same_text(
    text: str, key: str, value: JSON
) -> None:
    if STRICT_JSON.parse(text):
        added = apply(text, [SetMember((key,), value)])
        assert apply(added, [RemoveMember((key,))]) == text


@given(any_text, st.lists(edits, max_size=4), values)
def test_undoing_by_key_takes_ours_back_and_leaves_what_the_user_added_since(
    text: str, wanted: list[Edit], value: JSON
) -> None:
    if expected(text, wanted) is None:
        return
    before = STRICT_JSON.parse(text)
    since = [SetMember(("the user's", "own"), value)]
    late = apply(apply(text, wanted), since)
    restored = STRICT_JSON.parse(apply(late, undoing(before, wanted)))
    assert without_order_of_elements(restored) == without_order_of_elements(changed(before, since))


def without_order_of_elements(value: JSON) -> JSON:
    """Let an element that was removed and put back stand elsewhere in its array."""
    match value:
        case dict():
            return {key: without_order_of_elements(inner) for key, inner in value.items()}
        case list():
            return sorted(
                (without_order_of_elements(inner) for inner in value),
                key=lambda one: json.dumps(one, sort_keys=True),
            )
        case _:
            return value


@given(
    any_text,
    st.lists(
        st.one_of(st.builds(SetMember, paths, values), st.builds(AddElement, paths, values)), max_size=1
    ),
)
def test_an_edit_made_twice_does_nothing_the_second_time(text: str, wanted: list[Edit]) -> None:
    if expected(text, wanted) is not None:
        assert plan(apply(text, wanted), wanted) == ()


@given(edits)
def test_an_edit_is_read_back_from_its_stored_form(edit: Edit) -> None:
    assert edit_from_json(json.loads(json.dumps(edit_to_json(edit)))) == edit


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        {},
        {"edit": "set_member", "path": ["a"]},
        {"edit": "set_member", "path": [], "value": 1},
        {"edit": "set_member", "path": [1], "value": 1},
        {"edit": "set_member", "path": "a", "value": 1},
        {"edit": "remove_member", "path": ["a"], "value": 1},
        {"edit": "other", "path": ["a"]},
        {"edit": [], "path": ["a"]},
    ],
)
def test_a_broken_stored_edit_is_refused(stored: JSON) -> None:
    with pytest.raises(BrokenUndoRecord):
        edit_from_json(stored)


def test_an_edit_of_the_document_itself_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="path of a member"):
        RemoveMember(())


PLUGIN = SetMember(("enabledPlugins", "ours@shop"), value=True)
DENY = AddElement(("permissions", "deny"), "WebFetch")


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("", PLUGIN, '{\n  "enabledPlugins": {\n    "ours@shop": true\n  }\n}\n'),
        ("\ufeff", DENY, '\ufeff{\n  "permissions": {\n    "deny": [\n      "WebFetch"\n    ]\n  }\n}\n'),
        ("\r\n", SetMember(("a",), 1), '{\r\n  "a": 1\r\n}\r\n'),
        ("{}", PLUGIN, '{\n  "enabledPlugins": {\n    "ours@shop": true\n  }\n}'),
        ("{ }\n", SetMember(("a",), 1), '{\n  "a": 1\n}\n'),
        ("{\n}\n", SetMember(("a",), 1), '{\n  "a": 1\n}\n'),
        ('{\n  "m": "x"\n}\n', SetMember(("a",), 1), '{\n  "m": "x",\n  "a": 1\n}\n'),
        (
            '{\n    "m": {\n        "x": 1\n    }\n}',
            SetMember(("p", "o"), value=True),
            '{\n    "m": {\n        "x": 1\n    },\n    "p": {\n        "o": true\n    }\n}',
        ),
        (
            '{\n\t"enabledPlugins": {}\n}\n',
            PLUGIN,
            '{\n\t"enabledPlugins": {\n\t\t"ours@shop": true\n\t}\n}\n',
        ),
        (
            '{\r\n  "enabledPlugins": {\r\n    "b": false\r\n  }\r\n}',
            PLUGIN,
            '{\r\n  "enabledPlugins": {\r\n    "b": false,\r\n    "ours@shop": true\r\n  }\r\n}',
        ),
        ('{"m":1}', PLUGIN, '{"m":1,"enabledPlugins":{"ours@shop":true}}'),
        ('{"m": 1}', PLUGIN, '{"m": 1, "enabledPlugins": {"ours@shop": true}}'),
        ('{ "m": 1, "n": 2 }', PLUGIN, '{ "m": 1, "n": 2, "enabledPlugins": {"ours@shop": true} }'),
        (
            '{\n  "permissions": {"deny": ["A", "B"]}\n}',
            DENY,
            '{\n  "permissions": {"deny": ["A", "B", "WebFetch"]}\n}',
        ),
        (
            '{\n  "permissions": {\n    "deny": []\n  }\n}',
            DENY,
            '{\n  "permissions": {\n    "deny": [\n      "WebFetch"\n    ]\n  }\n}',
        ),
        (
            '{\n  "big": 9007199254740993,\n  "n": 1.50,\n  "s": "\\u0041\\/",\n  "a": 1\n}',
            SetMember(("a",), 2),
            '{\n  "big": 9007199254740993,\n  "n": 1.50,\n  "s": "\\u0041\\/",\n  "a": 2\n}',
        ),
        ('{"a": 1, "b": 2, "c": 3}', RemoveMember(("a",)), '{"b": 2, "c": 3}'),
        ('{"a": 1, "b": 2, "c": 3}', RemoveMember(("b",)), '{"a": 1, "c": 3}'),
        ('{\n  "a": 1,\n  "b": 2\n}', RemoveMember(("b",)), '{\n  "a": 1\n}'),
        ('{\n  "a": 1\n}', RemoveMember(("a",)), "{}"),
        ('{"a": [1, true, 1.0]}', RemoveElement(("a",), value=True), '{"a": [1, 1.0]}'),
        ('{"a": {"x": 1, "y": 2}}', SetMember(("a",), {"y": 2, "x": 1}), '{"a": {"x": 1, "y": 2}}'),
        ('{"a": 1}', SetMember(("a",), 1.0), '{"a": 1.0}'),
        ('{"a": 1}', SetMember(("b",), "\ud800ü"), '{"a": 1, "b": "\\ud800ü"}'),
    ],
)
def test_what_is_added_looks_like_what_is_there(before: str, edit: Edit, after: str) -> None:
    assert apply(before, [edit]) == after


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ('{"enabledPlugins": []}', PLUGIN),
        ('{"enabledPlugins": null}', PLUGIN),
        ('{"permissions": {"deny": {}}}', DENY),
        ('{"permissions": "all"}', DENY),
        ("{}", SetMember(("a",), float("nan"))),
    ],
)
def test_an_edit_through_a_value_of_another_kind_is_refused(text: str, edit: Edit) -> None:
    with pytest.raises(WriteRefused) as refused:
        apply(text, [edit])
    assert refused.value.reason is Reason.UNPROVEN_EDIT


@pytest.mark.parametrize(
    ("late", "restored"),
    [
        pytest.param('{"p": {"ours": 1, "theirs": 2}}', '{"p": {"theirs": 2}}', id="their entry beside ours"),
        pytest.param('{"p": {"ours": 1}}', "{}", id="only reformatted"),
        pytest.param('{"p": {"ours": false}}', "{}", id="ours set to another value"),
        pytest.param('{"p": {}}', "{}", id="ours removed"),
        pytest.param('{"p": "gone"}', '{"p": "gone"}', id="our parent replaced"),
    ],
)
def test_undoing_by_key_spares_what_became_the_users(late: str, restored: str) -> None:
    undo = undoing({}, [SetMember(("p", "ours"), 1)])
    assert apply(late, undo) == restored


def test_a_value_of_the_users_comes_back_unless_they_changed_ours() -> None:
    undo = undoing({"a": "theirs"}, [SetMember(("a",), "ours")])
    assert apply('{"a": "ours"}', undo) == '{"a": "theirs"}'
    assert apply('{"a": "newer"}', undo) == '{"a": "newer"}'


def test_one_and_true_are_different_values() -> None:
    assert not same_value(1, right=True)
    assert not same_value(1, 1.0)
    assert same_value({"a": 1, "b": 2}, {"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), ("\ufeff \r\n", True), ("{}", False), ("\xa0", False)]
)
def test_a_text_without_a_document_is_blank(text: str, *, blank: bool) -> None:
    assert is_blank(text) is blank


@pytest.mark.parametrize("text", ["[]", "null", '"settings"'])
def test_settings_that_are_no_object_are_refused(text: str) -> None:
    with pytest.raises(WriteRefused) as refused:
        STRICT_JSON.parse(text)
    assert refused.value.reason is Reason.NOT_PARSABLE
