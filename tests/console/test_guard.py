"""`te guard`: replays and scores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from console_runs import te

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

STUCK_LOG = [
    {"user": "mend it"},
    *[{"tool": "bash", "input": {"command": "make"}, "output": "Error: x", "is_error": True}] * 4,
]
CALM_LOG = [{"user": "look"}, {"tool": "bash", "input": {"command": "ls"}, "output": "a", "is_error": False}]
LABELS = [
    {
        "id": "one",
        "host": "calls",
        "file": "one.jsonl",
        "first_call": 1,
        "last_call": 4,
        "label": "stuck",
        "confidence": "high",
        "redirect_after_call": 3,
    },
    {
        "id": "two",
        "host": "calls",
        "file": "two.jsonl",
        "first_call": 1,
        "last_call": 1,
        "label": "not_stuck",
        "confidence": "high",
        "redirect_after_call": None,
    },
    {"id": "gone", "host": "calls", "file": "gone.jsonl", "first_call": 1, "last_call": 2, "label": "stuck"},
    {"id": "far", "host": "unheard", "file": "x", "first_line": 1, "last_line": 2, "label": "stuck"},
]


def write(path: Path, lines: list[dict[str, object]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.fixture
def labels(tmp_path: Path) -> str:
    write(tmp_path / "one.jsonl", STUCK_LOG)
    write(tmp_path / "two.jsonl", CALM_LOG)
    return write(tmp_path / "labels.jsonl", LABELS)


def test_a_score_is_precision_recall_and_lateness(labels: str) -> None:
    done = te("guard", "score", labels, "--json")
    told = json.loads(done.out)

    assert done.status == 0
    assert (told["labels"], told["stuck"], told["in_time"], told["false_redirects"]) == (2, 1, 1, 0)
    assert (told["precision"], told["recall"], told["recall_sure"], told["late_calls"]) == (
        1.0,
        1.0,
        1.0,
        [0],
    )
    assert [(result["id"], result["result"], result["late"]) for result in told["results"]] == [
        ("one", "found", 0),
        ("two", "silent", None),
    ]
    assert told["results"][0]["redirects"] == [{"call": 3, "line": 4, "rule": "same_call"}]
    assert [skipped["id"] for skipped in told["skipped"]] == ["gone", "far"]


def test_a_score_is_told_in_a_table_and_what_is_not_scored_in_words(labels: str) -> None:
    done = te("guard", "score", labels)

    assert "found" in done.out
    assert "100.0%" in done.out
    assert done.err.splitlines() == [
        "gone is not scored: gone.jsonl is not there",
        "far is not scored: logs of unheard cannot be read",
    ]


def test_a_label_of_lines_names_its_log_from_a_folder_above(tmp_path: Path) -> None:
    label = {**LABELS[0], "host": "swe", "first_line": 2, "last_line": 5}
    label["redirect_after_call"] = {"line": 4, "call_index_in_turn": 2}
    write(tmp_path / "loops" / "calls" / "one.jsonl", STUCK_LOG)

    told = json.loads(te("guard", "score", write(tmp_path / "loops" / "dev.jsonl", [label]), "--json").out)
    assert [result["result"] for result in told["results"]] == ["found"]


@pytest.mark.parametrize("text", ["[1]\n", "{\n", '{"id": "x"}\n'])
def test_labels_that_cannot_be_read_are_refused_with_exit_status_1(tmp_path: Path, text: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(text)
    done = te("guard", "score", str(path))

    assert done.status == 1
    assert "label" in done.err


def test_thresholds_of_the_user_hold_in_a_score(labels: str) -> None:
    te("config", "set", "guard.failed_repeats", "2")
    assert json.loads(te("guard", "score", labels, "--json").out)["late_calls"] == [-1]

    te("config", "set", "guard.same_call", "off")
    assert json.loads(te("guard", "score", labels, "--json").out)["recall"] == 0.0


def test_a_replay_tells_turns_with_their_redirects(labels: str, tmp_path: Path) -> None:
    done = te("guard", "replay", "--host", "calls", str(tmp_path / "one.jsonl"), "--json")
    turn = json.loads(done.out)

    assert (turn["turn"], turn["first_line"], turn["last_line"], turn["calls"]) == (1, 1, 5, 4)
    assert [(said["call"], said["line"], said["rule"]) for said in turn["redirects"]] == [(3, 4, "same_call")]
    assert labels
