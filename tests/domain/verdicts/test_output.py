import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.verdicts.output import (
    HEAD_CHARACTERS,
    LINE_CHARACTERS,
    TAIL_CHARACTERS,
    WHOLE_CHARACTERS,
    clean,
)


def texts(output: str) -> list[str]:
    return list(clean(output).lines)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("\x1b[1m\x1b[32m2 passed\x1b[0m", ["2 passed"]),
        ("[31mred[0m", ["red"]),
        ("\\u001b[31mred\\u001b[0m", ["red"]),
        ("\x1b]8;;https://example.com\x07link\x1b]8;;\x07", ["link"]),
        ("one\r\ntwo\r\n", ["one", "two", ""]),
        ("10 %\r50 %\rdone", ["done"]),
        ("a long line\rshort", ["a long line", "short"]),
        ("a long line\r\x1b[Kshort", ["short"]),
        ("\x1b[2K\x1b[1Gnow", ["now"]),
        ("wrogn\x08\x08ng", ["wrong"]),
        ("a\x00b\x7fc", ["abc"]),
        ("trailing   \n", ["trailing", ""]),
        ("\r", [""]),
        ("", [""]),
    ],
)
def test_lines_are_what_a_terminal_shows(output: str, lines: list[str]) -> None:
    assert texts(output) == lines


def test_redraws_keep_the_number_of_their_line() -> None:
    assert list(clean("a\nbb\rc\nd").numbers) == [1, 2, 2, 3]


@pytest.mark.parametrize(
    "marker",
    [
        "... [124 lines truncated] ...",
        "...124 lines truncated...",
        "…999 tokens truncated…",
        "[111 lines omitted]",
        "... [20,480 characters truncated] ...",
        "<output clipped>",
        "[... omitted 100 of 300 lines ...]",
        "<output too long - dropped 123 characters from the middle>",
        "… +124 lines (ctrl+o to expand)",
    ],
)
def test_the_markers_of_agents_say_that_something_is_missing(marker: str) -> None:
    assert clean(f"first\n{marker}\nlast").cut_at == 1


@pytest.mark.parametrize("text", ["the string was truncated", "3 lines", "1 skipped", "omitted by design"])
def test_words_about_truncation_are_no_markers(text: str) -> None:
    assert clean(f"first\n{text}\nlast").cut_at is None


def test_of_a_long_output_head_and_tail_are_read_with_their_own_line_numbers() -> None:
    line = "x" * 99 + "\n"
    count = WHOLE_CHARACTERS // len(line) * 4
    output = clean(line * count + "last")
    assert len(output.text) <= HEAD_CHARACTERS + TAIL_CHARACTERS
    assert output.numbers[-1] == count + 1
    assert output.numbers[0] == 1
    assert output.cut_at is not None


def test_a_text_that_a_program_wrapped_in_json_is_read_too() -> None:
    wrapped = json.dumps({"log": "...\n3 passed in 0.02s\n"})
    assert texts(wrapped) == [wrapped, "...", "3 passed in 0.02s", ""]


def test_events_of_a_runner_in_json_are_left_to_its_grammar() -> None:
    event = json.dumps({"Action": "output", "Output": "--- FAIL: quoted\n"}, separators=(",", ":"))
    assert texts(event) == [event]


def test_numbers_that_a_search_put_before_lines_are_taken_away() -> None:
    lines = clean("19:Tests: 1 failed\ntests/log.txt:7-ok", numbered=True).lines
    assert list(lines) == ["Tests: 1 failed", "ok"]


def test_no_pattern_meets_a_line_that_is_too_long_for_a_summary() -> None:
    output = clean("x" * LINE_CHARACTERS + " passed\n1 passed\n")
    assert [text for _, text in output.containing("passed")] == ["1 passed"]


@given(st.text(alphabet=st.sampled_from('ab \n\r\x1b[0;31m\x08{"\\n')))
def test_cleaning_never_raises_and_leaves_no_control_characters(output: str) -> None:
    lines = clean(output).lines
    assert lines
    assert not any(set(line) & set("\n\r\x1b\x08") for line in lines if "\x1b" not in output)


@given(
    st.lists(st.sampled_from(["ok", "not ok", "", "1 passed", "é ok"])),
    st.sampled_from(["ok", "passed", "é"]),
)
def test_every_line_that_holds_a_needle_is_found_once(lines: list[str], needle: str) -> None:
    found = clean("\n".join(lines)).indices(needle)
    assert list(found) == [index for index, line in enumerate(lines) if needle in line]
