from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokeneconomizer.writers.edit_model import changed, undoing
from tokeneconomizer.writers.edits import (
    JSON,
    AddElement,
    AddMember,
    Edit,
    Path,
    RemoveMember,
    SetMember,
    TakeAway,
)
from tokeneconomizer.writers.errors import Reason, WriteRefused
from tokeneconomizer.writers.splices import make_all, take_back_all
from tokeneconomizer.writers.toml import Toml

PLAIN = Toml()
MARKED = Toml(comment_of=lambda path: f"# ours:{path[-1]}")


def off(*path: str) -> AddMember:
    return AddMember(path, value=False)


def edited(text: str, *edits: Edit, form: Toml = PLAIN) -> str:
    return make_all(text, form.edit(text, edits))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "f.a = false\n"),
        ("# notes\n", "# notes\nf.a = false\n"),
        ("x = 1", "x = 1\nf.a = false"),
        ("x = 1\r\n", "x = 1\r\nf.a = false\r\n"),
        ("\ufeffx = 1\n", "\ufeffx = 1\nf.a = false\n"),
        ("[f]\nb = 1\n", "[f]\na = false\nb = 1\n"),
        ("[f]", "[f]\na = false"),
        ("[ 'f' ] # mine\r\nb = 1\r\n", "[ 'f' ] # mine\r\na = false\r\nb = 1\r\n"),
        ("f.b = 1\n\n# t\n[t]\n", "f.b = 1\nf.a = false\n\n# t\n[t]\n"),
        ("# t\n[t]\n", "# t\nf.a = false\n[t]\n"),
        ("#:schema s\n\n# t\n[t]\n", "#:schema s\nf.a = false\n\n# t\n[t]\n"),
        ("[f.sub]\nx = 1\n", "f.a = false\n[f.sub]\nx = 1\n"),
        ("s = '''\n[f]\n'''\n[f]\n", "s = '''\n[f]\n'''\n[f]\na = false\n"),
        ("l = [\n[1]\n]\n[f]\n", "l = [\n[1]\n]\n[f]\na = false\n"),
        ("[[t]]\nx = 1\n", "f.a = false\n[[t]]\nx = 1\n"),
        ("[f]\na = true\n", "[f]\na = true\n"),
    ],
)
def test_a_key_is_added_as_a_line_of_its_own(before: str, after: str) -> None:
    assert edited(before, off("f", "a")) == after


def test_marked_lines_stand_in_the_order_of_their_writing() -> None:
    assert edited("[f]\nb = 1\n", off("f", "a"), off("f", "c"), form=MARKED) == (
        "[f]\na = false  # ours:a\nc = false  # ours:c\nb = 1\n"
    )


@pytest.mark.parametrize(
    ("since", "left"),
    [
        ("[f]\na = false\n", ""),
        ("[f]\r\na = false\r\nb = 1\r\n", "[f]\r\nb = 1\r\n"),
        ("b = 1\nf.a = false", "b = 1"),
        ("f = { b = 1, a = false }\n", "f = { b = 1  }\n"),
        ('"f"."a" = false # stripped\nx = 1\n', "x = 1\n"),
        ("[f]\na = true\n", "[f]\na = true\n"),
        ("# theirs\nf.a = false\n", "# theirs\n"),
    ],
)
def test_ours_is_found_in_whatever_form_another_program_gave_it(since: str, left: str) -> None:
    assert edited(since, *undoing({}, [off("f", "a")])) == left


TABLE = SetMember(("t", "x@y"), {"on": True, "at": "/a b"})
LINES = '[t."x@y"]\non = true\nat = "/a b"\n'


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("", ""),
        ("a = 1\n", "\n"),
        ("a = 1\n\n", "\n"),
        ("a = 1", "\n\n"),
        ("# mine\n[t]\na = 1\n\n[t.z]  # theirs\n# end\n", "\n"),
    ],
)
def test_a_table_is_added_at_the_end_and_taken_back(before: str, between: str) -> None:
    value = PLAIN.parse(before)
    after = edited(before, TABLE)

    assert after == before + between + LINES
    # The line break that the last line lacked stays: what is taken back by its splice is taken back whole.
    assert edited(after, *undoing(value, [TABLE])).removesuffix("\n") == before.removesuffix("\n")
    assert take_back_all(after, PLAIN.edit(before, [TABLE])) == before


@pytest.mark.parametrize(
    ("since", "left"),
    [
        ('a = 1\n\n[t."x@y"]\non = false\n\n[u]\n', "a = 1\n\n[u]\n"),
        ('[t]\n[t."x@y"]\non = """\n[u]\n"""\n# of u\n[u]\n', "[t]\n# of u\n[u]\n"),
        ('t."x@y".on = true\nt."x@y".at = "b"\n', ""),
        ('[t]\n"x@y" = { on = true }\nb = 1\n', "[t]\nb = 1\n"),
        ('[u]\r\n\r\n[t."x@y"]\r\n', "[u]\r\n"),
    ],
)
def test_a_table_is_taken_out_in_whatever_form_it_has(since: str, left: str) -> None:
    assert edited(since, RemoveMember(("t", "x@y"))) == left


@pytest.mark.parametrize(
    "text",
    ["a = 1\na = 2\n", "[f\n", "a = 1\x00", "a = 1\r[f]\r", 'a = "\\x41"\n', "f = {\n a = 1,\n}\n"],
)
def test_what_is_no_toml_1_0_is_refused(text: str) -> None:
    with pytest.raises(WriteRefused) as refused:
        edited(text, off("f", "a"))
    assert refused.value.reason is Reason.NOT_PARSABLE


def test_what_the_agent_would_stop_on_is_refused() -> None:
    picky = Toml(problem_of=lambda value: "f is no table" if value.get("f") == 1 else "")
    with pytest.raises(WriteRefused, match="f is no table"):
        picky.parse("f = 1\n")


@pytest.mark.parametrize(
    "edit", [AddElement(("a",), 1), AddMember(("a",), {"b": {"c": 1}}), AddMember(("a",), None)]
)
def test_what_no_line_can_say_is_refused(edit: Edit) -> None:
    with pytest.raises(WriteRefused) as refused:
        edited("", edit)
    assert refused.value.reason is Reason.UNPROVEN_EDIT


@pytest.mark.parametrize("edits", [[off("f", "a")], [off("f", "a"), off("g", "a")]])
def test_a_closed_table_takes_no_line(edits: list[Edit]) -> None:
    with pytest.raises(WriteRefused) as refused:
        edited("f = { b = 1 }\n", *edits)
    assert refused.value.reason is Reason.UNPROVEN_EDIT


keys = st.sampled_from(["a", "b", "c", "with space", "ü", "1"])
values = st.sampled_from(
    ["1", "-2.5", "true", '"x # y"', "[1, 2]", "'''\n[a]\nb = 1\n'''", "1979-05-27", "nan"]
)
gaps = st.sampled_from(["", "# note\n", "\n", "\n# [a]\n\n", "#\n"])


def quoted(key: str) -> str:
    return key if key.isascii() and key.isalnum() else f'"{key}"'


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [draw(gaps)]
    for key in draw(st.lists(keys, unique=True, max_size=3)):
        parts += [f"{quoted(key)}0 = {draw(values)}\n" if key.isalnum() and key.isascii() else "", draw(gaps)]
    tables = draw(st.lists(st.lists(keys, min_size=1, max_size=2).map(tuple), unique=True, max_size=4))
    for table in tables:
        parts.append(f"[{'.'.join(map(quoted, table))}]\n{draw(gaps)}")
        inner = draw(st.lists(keys, unique=True, max_size=3))
        parts += [f"{quoted(key)} = {draw(values)}\n{draw(gaps)}" for key in inner]
    text = draw(st.sampled_from(["", "\ufeff"])) + "".join(parts)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


paths = st.lists(keys, min_size=1, max_size=3).map(tuple)
scalars = st.booleans() | st.integers(-9, 9) | st.text("a\"'\\\n#é", max_size=4) | st.just([1, "x"])


@given(documents(), st.lists(st.tuples(paths, scalars), min_size=1, max_size=3))
def test_any_addition_is_the_models_and_is_taken_back(text: str, added: list[tuple[Path, JSON]]) -> None:
    edits: list[Edit] = [AddMember(path, value) for path, value in added]
    try:
        value = PLAIN.parse(text)
        splices = PLAIN.edit(text, edits)
        new = make_all(text, splices)
        result = PLAIN.parse(new)
    except WriteRefused:
        return
    if not PLAIN.proves(result, changed(value, edits), edits):
        return
    assert take_back_all(new, splices) == text
    undo = undoing(value, edits)
    taken = make_all(new, PLAIN.edit(new, undo))
    assert PLAIN.proves(PLAIN.parse(taken), changed(result, undo), undo)
    assert PLAIN.proves(PLAIN.parse(taken), value, edits)


@example("[b]\na = 1979-05-27\n[a]\n", ("b", "a", "a"))
@given(documents(), paths)
def test_an_addition_is_made_whenever_toml_can_say_it(text: str, path: Path) -> None:
    try:
        value = PLAIN.parse(text)
        changed(value, [off(*path)])
    except WriteRefused:
        return
    new = edited(text, off(*path))
    assert PLAIN.proves(PLAIN.parse(new), changed(value, [off(*path)]), [off(*path)])


def test_a_change_of_the_users_is_not_taken_away() -> None:
    assert edited("a = true\n", TakeAway(("a",), value=False)) == "a = true\n"


def test_lines_of_ours_leave_no_trace() -> None:
    text = "[f]\nb = 1\n[g]\n"
    new = edited(text, off("f", "a"), off("g", "c"), off("h", "d"), form=MARKED)
    lines = new.splitlines(keepends=True)
    assert "".join(line for line in lines if "# ours:" not in line) == text
    assert all(first != second for first, second in pairwise(lines))
