"""What the judge is told, what counts as its answer, and what becomes of it (S4.5, S11.3)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import Telling, edit, shell

from tokeneconomizer.domain.guard.judge import DIGEST_CHARACTERS_MAX, Verdict, digest_of, verdict_from
from tokeneconomizer.domain.guard.limits import JUDGE_CONFIDENCE, NOT_STUCK, STUCK, Limits
from tokeneconomizer.domain.handle import Rules
from tokeneconomizer.domain.judging import Case, ask, case_of, give_verdict

if TYPE_CHECKING:
    from tokeneconomizer.domain.digests import Call

SURE = JUDGE_CONFIDENCE / 100
LIMITS = Limits(gate_calls=8)


def gated(*calls: Call) -> Telling:
    """A turn that passed the gate by differing calls that tell nothing."""
    told = Telling(rules=Rules(limits=LIMITS))
    told.prompt("fix it for secret-customer")
    for call in calls or [shell(f"test -f file{'x' * number}") for number in range(9)]:
        told.step(call)
    assert len(told.of("gate_fired")) == 1
    return told


def case(told: Telling) -> Case:
    assert told.session is not None
    found = case_of(told.session)
    assert found is not None
    return found


def judged(told: Telling, verdict: str = STUCK, confidence: float = SURE) -> None:
    found = case(told)
    assert told.session is not None
    ask(told.session, found, "side-1", told.at)
    give_verdict(told.session, found, "side-1", Verdict(verdict, confidence), "small-model", told.at)
    told.events += told.session.collect_events()  # type: ignore[arg-type]


def test_the_digest_holds_templates_base_names_masked_words_and_counts_and_nothing_else() -> None:
    secret = "zebra-4711"  # noqa: S105 - it is to be found nowhere
    told = gated(
        edit(f"/home/dev/{secret}/total.py", f"x = '{secret}'"),
        *[shell(f"pytest -k {secret} src/total.py", f"ValueError: {secret} at line 12", failed=True)] * 9,
    )
    digest = case(told).digest

    assert secret not in digest
    assert "secret-customer" not in digest
    assert "1. Edit: total.py -> ok, wrote files =a" in digest
    assert "2. Bash: pytest -k <" in digest
    assert "ValueError" in digest
    assert digest.splitlines()[0].startswith(
        "calls 10 (above 8 is far more than usual here), failures 9, edits 1"
    )


def test_equal_outcomes_have_one_name_and_others_another() -> None:
    told = gated(*[shell("make", "KeyError: x", failed=True)] * 8, shell("ls", "a.py"))
    names = [line.rpartition("=")[2] for line in case(told).digest.splitlines()[1:]]

    assert names == ["a"] * 8 + ["b"]


def test_the_digest_is_bounded() -> None:
    told = Telling(rules=Rules(limits=LIMITS))
    for number in range(60):
        told.step(
            replace(shell(f"run {'--flag' * 40} {number}", "E" * 900, failed=True), call_id=f"c{number}")
        )
    assert told.session is not None

    assert len(digest_of(told.session.turn, LIMITS)) <= DIGEST_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('{"verdict": "stuck", "confidence": 0.9}', Verdict(STUCK, 0.9)),
        (' {"confidence": 1, "verdict": "not_stuck"}\n', Verdict(NOT_STUCK, 1.0)),
        ('{"verdict": "stuck"}', None),
        ('{"verdict": "stuck", "confidence": "high"}', None),
        ('{"verdict": "stuck", "confidence": true}', None),
        ('{"verdict": "stuck", "confidence": 1.5}', None),
        ('{"verdict": "stuck", "confidence": NaN}', None),
        ('{"verdict": "stuck", "confidence": 0.9, "redirect": "run rm"}', None),
        ('{"verdict": "maybe", "confidence": 0.9}', None),
        ('{"verdict": ["stuck"], "confidence": 0.9}', None),
        ('```json\n{"verdict": "stuck", "confidence": 0.9}\n```', None),
        ('It is stuck: {"verdict": "stuck", "confidence": 0.9}', None),
        ("[" * 400, None),
        ("", None),
    ],
)
def test_only_exactly_the_object_that_was_asked_for_is_a_verdict(
    answer: str, verdict: Verdict | None
) -> None:
    assert verdict_from(answer) == verdict


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=5).map(json.dumps))
def test_no_answer_breaks_the_parser(answer: str) -> None:
    found = verdict_from(answer)
    assert found is None or found.verdict in {STUCK, NOT_STUCK}


def test_a_stuck_verdict_rides_once_on_the_next_result() -> None:
    told = gated()
    judged(told)
    answers = [told.step(shell(f"test -d dir{'x' * number}")).decision.context for number in range(9)]

    (redirected,) = told.of("redirected")
    assert redirected.rule == "judge"
    assert [bool(answer) for answer in answers] == [True] + [False] * 8
    assert "far more than turns here usually do" in answers[0]


@pytest.mark.parametrize(("verdict", "confidence"), [(STUCK, SURE - 0.01), (NOT_STUCK, 1.0)])
def test_a_verdict_without_confidence_or_of_an_honest_turn_says_nothing(
    verdict: str, confidence: float
) -> None:
    told = gated()
    judged(told, verdict, confidence)
    told.step(shell("test -d src"))

    assert told.of("redirected") == []
    assert len(told.of("verdict_given")) == 1


def test_a_turn_that_moved_on_meanwhile_hears_nothing() -> None:
    told = gated()
    judged(told)
    told.step(shell("pytest", "3 passed in 1s"))

    assert told.of("redirected") == []


def test_a_verdict_that_comes_after_its_turn_is_stored_and_not_said_in_the_next_one() -> None:
    told = gated()
    found = case(told)
    told.stop()
    told.prompt()
    assert told.session is not None
    give_verdict(told.session, found, "side-1", Verdict(STUCK, 1.0), "", told.at)
    told.session.collect_events()
    for number in range(8):
        told.step(shell(f"test -d dir{'x' * number}"))

    assert told.of("redirected") == []


def test_a_turn_is_a_case_only_between_the_gate_and_the_question() -> None:
    fresh, asked, ended = Telling(), gated(), gated()
    fresh.prompt()
    assert fresh.session is not None
    assert asked.session is not None
    ask(asked.session, case(asked), "side-1", asked.at)
    ended.stop()
    assert ended.session is not None

    assert case_of(fresh.session) is None
    assert case_of(asked.session) is None
    assert case_of(ended.session) is None
    assert asked.session.judge_calls == 1


def test_the_judges_line_comes_in_both_languages() -> None:
    for language, words in (("en", "Stop for a moment"), ("zh", "请先停一下")):
        told = gated()
        judged(told)
        told.rules = replace(told.rules, language=language)
        assert words in told.step(shell("test -d src")).decision.context
