"""Hand-labelled turns of real sessions through the guard, where the recordings are at hand (S4.2, S4.3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.hosts import neutral_calls
from tokeneconomizer.hosts.claude_code import log_tail
from tokeneconomizer.scheduler.replay import replay

if TYPE_CHECKING:
    from tokeneconomizer.scheduler.replay import ReplayedRedirect

CORPUS = Path(os.environ.get("TOKENECONOMIZER_CORPUS") or Path(__file__).resolve().parents[3] / "shared")

LATE_CALLS_MAX = 2
"""A redirect that comes later than this after the labelled call is no use any more."""


def labels(name: str) -> list[dict[str, object]]:
    path = CORPUS / "loops" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


OF_CLAUDE = [label for label in labels("dev.jsonl") if label["host"] == "claude"]
OF_CALLS = labels("calls/labels.jsonl")

pytestmark = pytest.mark.skipif(
    not OF_CLAUDE, reason="no labelled turns: name their folder in TOKENECONOMIZER_CORPUS"
)


def redirects_in(path: Path, host: str) -> list[ReplayedRedirect]:
    reader = log_tail.read if host == "claude_code" else neutral_calls.read
    with path.open("rb") as lines:
        return [redirect for turn in replay(reader(lines), host, Rules()) for redirect in turn.redirects]


@pytest.mark.parametrize("label", OF_CLAUDE, ids=lambda label: label["id"])
def test_a_turn_of_claude_code_is_redirected_only_where_it_is_stuck(label: dict[str, object]) -> None:
    first, last = int(str(label["first_line"])), int(str(label["last_line"]))
    redirects = redirects_in(CORPUS / str(label["file"]), "claude_code")

    assert not any(first <= redirect.line <= last for redirect in redirects) or label["label"] == "stuck"


@pytest.mark.parametrize("label", OF_CALLS, ids=lambda label: label["id"])
def test_a_surely_stuck_sequence_is_redirected_in_time(label: dict[str, object]) -> None:
    redirects = redirects_in(CORPUS / "loops" / "calls" / str(label["file"]), "calls")
    due = int(str(label["redirect_after_call"]))

    assert label["confidence"] != "high" or any(due <= r.call <= due + LATE_CALLS_MAX for r in redirects)
