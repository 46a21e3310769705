from __future__ import annotations

import json

from told_sessions import not_found, sessions

from tokeneconomizer.domain.facts.block import HEADING, evidence_of, lines_of, text_of, within_limit
from tokeneconomizer.domain.facts.life import Wish, facts_of

HISTORY = sessions(
    *[(not_found("pytest"), "uv run pytest", "npm run build", "npm run lint")] * 2,
    ("npm run typecheck",),
)


def test_what_saves_a_failure_comes_first_then_by_purpose() -> None:
    assert text_of(lines_of(facts_of(HISTORY, {}))).split("\n") == [
        HEADING,
        "- `pytest` is not found here: use `uv run pytest`.",
        "- Run the tests with `uv run pytest`.",
        "- Lint with `npm run lint`.",
        "- Build with `npm run build`.",
    ]


def test_what_the_user_pinned_comes_before_all() -> None:
    (typed,) = [fact for fact in facts_of(HISTORY, {}) if fact.lesson.purpose == "types"]
    lines = lines_of(facts_of(HISTORY, {typed.fact_id: Wish.PINNED}))
    assert lines[0].sentence == "Check the types with `npm run typecheck`."


def test_what_the_files_speak_against_is_left_out() -> None:
    lines = lines_of(facts_of(HISTORY, {}), lambda fact: fact.lesson.purpose != "build")
    assert "npm run build" not in text_of(lines)


def test_nothing_to_tell_is_an_empty_text() -> None:
    assert text_of([]) == ""
    assert within_limit(lines_of(facts_of(HISTORY, {})), 0) == []


def test_each_fact_of_a_block_has_its_evidence() -> None:
    (first, *_) = json.loads(evidence_of(lines_of(facts_of(HISTORY, {}))))
    assert first["sentence"] == "`pytest` is not found here: use `uv run pytest`."
    assert first["sessions"] == ["claude_code session-0", "claude_code session-1"]
    assert first["positions"] == [1, 2, 1001, 1002]


def test_of_much_evidence_the_newest_is_stored_with_the_block() -> None:
    history = sessions(*[("npm test",)] * 15)
    (only,) = json.loads(evidence_of(lines_of(facts_of(history, {}))))
    assert only["sessions"] == [f"claude_code session-{number}" for number in range(5, 15)]
