"""Labels in both forms, and what a redirect is worth beside them."""

from __future__ import annotations

import pytest

from tokeneconomizer.domain.errors import BadLabel
from tokeneconomizer.scheduler.replay import ReplayedRedirect, ReplayedTurn
from tokeneconomizer.scheduler.scoring import LATE_CALLS_MAX, Label, Scored, label_from, score, scored

OF_LINES: dict[str, object] = {
    "id": "a-1",
    "host": "claude",
    "file": "transcripts/a.jsonl",
    "first_line": 10,
    "last_line": 20,
    "label": "stuck",
    "confidence": "high",
    "redirect_after_call": {"line": 14, "call_index_in_session": 30, "call_index_in_turn": 4},
}
OF_CALLS: dict[str, object] = {
    "id": "b-1",
    "host": "calls",
    "file": "b.jsonl",
    "first_call": 3,
    "last_call": 9,
    "label": "not_stuck",
    "confidence": "low",
    "redirect_after_call": None,
}


def turns(*redirects: tuple[int, int]) -> list[ReplayedTurn]:
    """One turn with redirects at these calls and lines; call 5 stands in line 14."""
    said = [ReplayedRedirect(call, line, "same_call", "error", "text") for call, line in redirects]
    return [ReplayedTurn(1, 1, 99, redirects=said, call_lines=list(range(10, 30)))]


def test_a_label_of_lines_names_the_line_of_its_due_call() -> None:
    label = label_from(OF_LINES)

    assert (label.host, label.folder, label.in_lines) == ("claude_code", "shared", True)
    assert (label.first, label.last, label.due, label.is_stuck) == (10, 20, 14, True)


def test_a_label_of_calls_lies_beside_its_log() -> None:
    label = label_from({**OF_CALLS, "label": "stuck", "redirect_after_call": 5})

    assert (label.host, label.folder, label.in_lines, label.file) == ("calls", "beside", False, "b.jsonl")
    assert (label.first, label.last, label.due) == (3, 9, 5)


def test_a_benchmark_run_is_read_from_its_neutral_calls() -> None:
    label = label_from({**OF_LINES, "id": "c-3", "host": "swe"})

    assert (label.host, label.file) == ("calls", "loops/calls/c-3.jsonl")


@pytest.mark.parametrize(
    "change",
    [
        {"label": "perhaps"},
        {"first_line": "ten"},
        {"last_line": True},
        {"redirect_after_call": {"call_index_in_turn": 3}},
        {"redirect_after_call": "soon"},
    ],
)
def test_a_label_that_cannot_be_read_is_refused_in_words(change: dict[str, object]) -> None:
    with pytest.raises(BadLabel, match=r"`stuck` or `not_stuck`|docs/guard\.md"):
        label_from({**OF_LINES, **change})
    with pytest.raises(BadLabel):
        label_from({"id": "x"})


@pytest.mark.parametrize(
    ("redirects", "late", "in_time"),
    [
        ([], None, False),
        ([(5, 14)], 0, True),
        ([(4, 12)], -1, True),
        ([(5 + LATE_CALLS_MAX, 18)], LATE_CALLS_MAX, True),
        ([(6 + LATE_CALLS_MAX, 19)], LATE_CALLS_MAX + 1, False),
        ([(5, 9), (5, 21)], None, False),
        ([(6, 15), (9, 20)], 1, True),
    ],
)
def test_a_stuck_stretch_is_found_by_a_redirect_within_it_in_time(
    redirects: list[tuple[int, int]], late: int | None, *, in_time: bool
) -> None:
    result = scored(label_from(OF_LINES), turns(*redirects))

    assert (result.late, result.in_time, result.is_false) == (late, in_time, False)


@pytest.mark.parametrize(("call", "is_false"), [(2, False), (3, True), (9, True), (10, False)])
def test_a_redirect_in_a_stretch_that_is_not_stuck_is_false(call: int, *, is_false: bool) -> None:
    assert scored(label_from(OF_CALLS), turns((call, 50))).is_false is is_false


def test_figures_are_shares_of_what_was_said_and_of_what_is_stuck() -> None:
    stuck, honest = label_from(OF_LINES), label_from(OF_CALLS)
    unsure = label_from({**OF_LINES, "confidence": "low"})
    figures = score(
        [scored(stuck, turns((5, 14))), scored(unsure, turns()), scored(honest, turns((4, 1))), late(stuck)]
    )

    assert (figures.labels, figures.stuck, figures.in_time, figures.false_redirects) == (4, 3, 1, 1)
    assert (figures.precision, figures.recall, figures.recall_sure) == (0.6667, 0.3333, 0.5)
    assert figures.late_calls == (0, 4)


def late(label: Label) -> Scored:
    return scored(label, turns((9, 20)))


def test_figures_that_nothing_tells_are_unknown() -> None:
    figures = score([])

    assert (figures.precision, figures.recall, figures.recall_sure) == (None, None, None)
