import json
import re
import unicodedata
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from console_runs import te_in_terminal, te_process
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.console import output
from tokeneconomizer.console.output import Cell, Table
from tokeneconomizer.domain.settings import SETTINGS

STYLE = re.compile(r"\x1b\[[0-9;]*m")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_columns_are_aligned_by_blanks_also_for_wide_characters() -> None:
    table = Table("标题", ("name", "value"), [["会话", Cell("1", "good")], ["tool calls", "12"]])
    assert output.plain_lines(table) == [
        "标题",
        "name        value",
        "会话        1",
        "tool calls  12",
    ]


def test_a_table_without_headings_is_a_list_of_names_and_values() -> None:
    assert output.plain_lines(Table("", (), [["a", "1"], ["long", "2"]])) == ["a     1", "long  2"]


def test_an_empty_table_shows_its_title_and_headings() -> None:
    assert output.plain_lines(Table("t", ("a", "b"), [])) == ["t", "a  b"]


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\tb", "a\nb", "a\u202eb", "\x9b1m", "\x00", "\ud800"])
def test_nothing_that_moves_a_cursor_is_shown(text: str) -> None:
    (line,) = output.plain_lines(Table("", (), [[text]]))
    assert output.UNPRINTABLE in line
    assert not {"\x1b", "\t", "\n", "\u202e", "\x9b", "\x00", "\ud800"} & set(line)


@given(st.text(st.characters(exclude_categories=[])))
def test_printable_text_has_no_control_characters(text: str) -> None:
    shown = output.printable(text)
    assert len(shown) == len(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs"}]
    assert output.printable(shown) == shown


@given(json_values)
def test_json_is_one_line_that_reads_back(value: object) -> None:
    with CliRunner().isolation() as (out, _, _mixed):
        output.print_json(value)
        printed = out.getvalue()
    assert printed.count(b"\n") == 1
    assert json.loads(printed) == value


def test_json_lines_before_an_error_are_printed() -> None:
    def values() -> Iterator[object]:
        message = "no more"
        yield {"a": 1}
        yield {"b": 2}
        raise RuntimeError(message)

    with CliRunner().isolation() as (out, _, _mixed):
        with pytest.raises(RuntimeError):
            output.print_json_lines(values())
        assert out.getvalue() == b'{"a":1}\n{"b":2}\n'


@pytest.mark.parametrize(
    ("moment", "shown"),
    [("2026-01-05T09:00:01.5+00:00", "2026-01-05 09:00:01"), ("soon", "soon"), (None, "")],
)
def test_times_are_shown_to_the_second(
    moment: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert output.local_time(moment) == shown


@pytest.mark.usefixtures("home")
def test_a_pipe_gets_neither_colour_nor_tabs() -> None:
    shown = te_process("config", "list").out
    assert "loopguard" in shown
    assert "\x1b" not in shown
    assert "\t" not in shown


@pytest.mark.usefixtures("home")
def test_a_narrow_terminal_shows_a_list_per_row_and_loses_nothing() -> None:
    shown = te_in_terminal("config", "list", columns=40)
    lines = [" ".join(line.split()) for line in STYLE.sub("", shown).splitlines()]
    assert max(map(output.width_of, STYLE.sub("", shown).splitlines())) <= 40
    assert lines[:4] == ["key loopguard", "value on", "default on", "from default"]
    assert sum(line.startswith("key ") for line in lines) == len(SETTINGS)


@pytest.mark.usefixtures("home")
def test_a_wide_terminal_shows_a_row_per_line() -> None:
    shown = STYLE.sub("", te_in_terminal("config", "list", columns=150))
    (line,) = [line for line in shown.splitlines() if line.split()[:1] == ["loopguard"]]
    assert line.split()[1:4] == ["on", "on", "default"]


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
@pytest.mark.usefixtures("home")
def test_a_terminal_is_coloured_unless_the_user_objects(variables: dict[str, str], *, coloured: bool) -> None:
    shown = te_in_terminal("daemon", "status", columns=100, variables=variables)
    assert ("\x1b[33m" in shown) is coloured


@pytest.mark.usefixtures("home")
def test_a_terminal_that_lacks_a_character_gets_its_escape() -> None:
    shown = te_process("status", variables={"LANG": "zh_CN.UTF-8", "PYTHONIOENCODING": "latin-1"})
    assert shown.status == 0
    assert "\\u" in shown.out
