from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_sessions import Ran, not_found, session, sessions

from tokeneconomizer.domain.facts.block import lines_of, text_of, within_limit
from tokeneconomizer.domain.facts.lessons import Kind
from tokeneconomizer.domain.facts.life import (
    SILENT_SESSIONS_MAX,
    Fact,
    SessionOfFacts,
    State,
    Wish,
    facts_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

LEARNT = (not_found("pytest"), "uv run pytest")
WRONG_WORKS = ("pytest",)
RIGHT_FAILS = (not_found("uv run pytest"),)
ELSEWHERE = ("npm run lint",)

CALLS = [
    not_found("pytest"),
    Ran("pytest"),
    Ran("uv run pytest"),
    not_found("uv run pytest"),
    Ran("npm test", "missing script"),
    Ran("npm test"),
    Ran("npm run test:unit"),
    Ran("npm ci"),
    Ran("npm test", "cannot find module"),
    not_found("python x.py"),
    Ran("python x.py"),
    Ran("python3 x.py"),
    Ran("npx biome check --apply", "unknown option"),
    Ran("npx biome check --write"),
    Ran("cd src && go test ./...", duration_ms=90_000),
    Ran("go test ./...", "no such file or directory"),
]

histories = st.lists(st.lists(st.sampled_from(CALLS), max_size=5), max_size=6).map(
    lambda told: sessions(*map(tuple, told))
)


def way_of(found: Sequence[Fact]) -> Fact:
    (fact,) = [fact for fact in found if fact.lesson.kind is Kind.WAY]
    return fact


def block(history: Sequence[SessionOfFacts], characters_max: int = 1_500) -> str:
    return text_of(within_limit(lines_of(facts_of(history, {})), characters_max))


def test_one_session_makes_a_candidate_and_a_second_one_confirms_it() -> None:
    assert way_of(facts_of(sessions(LEARNT), {})).state is State.CANDIDATE
    confirmed = way_of(facts_of(sessions(LEARNT, ELSEWHERE, LEARNT), {}))
    assert (confirmed.state, len(confirmed.evidence)) == (State.CONFIRMED, 2)


def test_the_same_thing_twice_in_one_session_is_one_session() -> None:
    assert way_of(facts_of(sessions((*LEARNT, *LEARNT)), {})).state is State.CANDIDATE


@pytest.mark.parametrize("against", [WRONG_WORKS, RIGHT_FAILS])
def test_a_contradiction_retires_and_two_more_sessions_bring_back(against: tuple[Ran | str, ...]) -> None:
    retired = way_of(facts_of(sessions(LEARNT, LEARNT, against), {}))
    assert (retired.state, retired.reason) == (State.RETIRED, "contradicted by a session")
    assert retired.contradicted_by == ("claude_code session-2",)
    assert way_of(facts_of(sessions(LEARNT, LEARNT, against, LEARNT), {})).state is State.CANDIDATE
    assert way_of(facts_of(sessions(LEARNT, LEARNT, against, LEARNT, LEARNT), {})).state is State.CONFIRMED


def test_long_silence_retires() -> None:
    silence = [ELSEWHERE] * SILENT_SESSIONS_MAX
    assert way_of(facts_of(sessions(LEARNT, LEARNT, *silence), {})).state is State.CONFIRMED
    retired = way_of(facts_of(sessions(LEARNT, LEARNT, *silence, ELSEWHERE), {}))
    assert (retired.state, retired.reason) == (State.RETIRED, "no session showed it for a long time")


def test_half_a_year_retires() -> None:
    history = [session(0, *LEARNT), session(1, *LEARNT), session(24 * 200, *ELSEWHERE)]
    assert way_of(facts_of(history, {})).state is State.RETIRED


def test_the_way_that_more_sessions_took_takes_the_place_of_another() -> None:
    npm, pnpm = ("npm test",), ("pnpm test",)
    found = {fact.lesson.right.key: fact for fact in facts_of(sessions(npm, npm, pnpm, pnpm, pnpm), {})}
    assert found["pnpm test"].state is State.CONFIRMED
    assert found["npm test"].state is State.REVISED
    assert found["npm test"].reason == f"{found['pnpm test'].fact_id} took its place"


def test_the_users_word_stands_above_all() -> None:
    (fact,) = facts_of(sessions(("npm test",), RIGHT_FAILS), {})
    assert not fact.is_told
    (pinned,) = facts_of(sessions(("npm test",)), {fact.fact_id: Wish.PINNED})
    (retired,) = facts_of(sessions(("npm test",), ("npm test",)), {fact.fact_id: Wish.RETIRED})
    assert (pinned.is_told, retired.is_told) == (True, False)


def test_the_simplest_text_that_ran_is_told_with_the_median_of_its_times() -> None:
    history = sessions(
        ("go test -v ./...",),
        (Ran("go test ./pkg/...", duration_ms=70_000), Ran("go test ./...", duration_ms=200_000)),
        (Ran("go test -run TestA ./...", duration_ms=180_000),),
    )
    (fact,) = facts_of(history, {})
    assert (fact.lesson.right.text, fact.is_whole, fact.duration_ms) == ("go test ./...", True, 180_000)


def test_what_each_run_was_told_to_work_on_is_no_part_of_the_way() -> None:
    history = sessions(("scripts/test.sh fish",), ("scripts/test.sh tmux",))
    (fact,) = facts_of(history, {})
    assert (fact.lesson.right.text, fact.is_whole) == ("scripts/test.sh", False)


@given(histories, st.randoms(use_true_random=False))
def test_the_order_in_which_sessions_come_to_be_known_does_not_matter(
    history: list[SessionOfFacts], random: st.DataObject
) -> None:
    shuffled = list(history)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert facts_of(shuffled, {}) == facts_of(history, {})
    assert block(shuffled) == block(history)


@given(histories)
def test_no_fact_is_told_before_its_second_session(history: list[SessionOfFacts]) -> None:
    told = [fact for fact in facts_of(history, {}) if fact.is_told]
    assert all(len({evidence.session for evidence in fact.evidence}) >= 2 for fact in told)
    assert block(history[:1]) == ""


@given(histories, st.sampled_from([WRONG_WORKS, RIGHT_FAILS]))
def test_a_contradiction_always_retires(
    history: list[SessionOfFacts], against: tuple[Ran | str, ...]
) -> None:
    contradicted = [*history, session(len(history), *against)]
    # That it works today says nothing of what had to be installed before.
    ways = [fact for fact in facts_of(contradicted, {}) if fact.lesson.kind is not Kind.AFTER]
    assert all(
        fact.state is State.RETIRED
        for fact in ways
        if fact.lesson.wrong.key == "pytest"
        if fact.lesson.right.key == "uv run pytest" or against is WRONG_WORKS
    )


@given(histories, st.integers(200, 1_600))
def test_the_block_never_exceeds_its_limit_and_is_the_beginning_of_a_longer_one(
    history: list[SessionOfFacts], characters_max: int
) -> None:
    text = block(history, characters_max)
    assert len(text) <= characters_max
    assert block(history, 4_000).startswith(text)
