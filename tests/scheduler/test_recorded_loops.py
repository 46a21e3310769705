"""Hand-labelled turns of real sessions through the guard, where the recordings are at hand (S4.2, S4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from recorded_turns import CORPUS, LOGS, NO_CORPUS, labels, log_of, turns_of

from tokeneconomizer.scheduler.scoring import score, scored

if TYPE_CHECKING:
    from tokeneconomizer.scheduler.scoring import Label

LABELS = labels()
DEFENDED = {
    ("claude_code", "63ef6e43-24d7-411b-99ff-ffef458effec.jsonl", 3),
    ("opencode", "ses_21229a8f4ffegejI7RUUY4px5h.json", 13),
    ("opencode", "ses_21229a8f4ffegejI7RUUY4px5h.json", 16),
}
"""The redirected turns of people's sessions: host, file, turn; docs/guard.md says why each is right."""

pytestmark = pytest.mark.skipif(not LABELS, reason=NO_CORPUS)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: label.name)
def test_a_turn_is_redirected_in_time_where_it_is_stuck_and_else_left_alone(label: Label) -> None:
    result = scored(label, turns_of(log_of(label), label.host))

    assert not result.is_false
    assert result.in_time == label.is_stuck


def test_all_labels_together_are_found_without_a_false_redirect() -> None:
    figures = score([scored(label, turns_of(log_of(label), label.host)) for label in LABELS])

    assert (figures.precision, figures.recall, figures.false_redirects) == (1.0, 1.0, 0)


@pytest.mark.parametrize("host", LOGS)
def test_of_all_recorded_turns_only_those_that_the_guide_defends_are_redirected(host: str) -> None:
    redirected = {
        (host, path.name, turn.turn)
        for path in sorted(CORPUS.glob(LOGS[host]))
        for turn in turns_of(path, host)
        if turn.redirects
    }

    assert redirected == {defended for defended in DEFENDED if defended[0] == host}
