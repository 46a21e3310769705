from __future__ import annotations

from told_sessions import not_found, session, sessions

from tokeneconomizer.domain.facts.block import lines_of, text_of
from tokeneconomizer.domain.facts.life import facts_of
from tokeneconomizer.domain.facts.savings import Savings, savings_of

LEARNT = (not_found("pytest"), "uv run pytest")


def test_failed_calls_are_counted_with_and_without_the_fact() -> None:
    history = sessions(LEARNT, LEARNT)
    lines = lines_of(facts_of(history, {}))
    block = text_of(lines)
    told = [
        *((one, []) for one in history),
        (session(2, "uv run pytest"), [block]),
        (session(3, not_found("pytest"), not_found("pytest")), [block]),
        (session(4, "npm run build"), [block]),
    ]
    fact, sentence = lines[0].fact, lines[0].sentence
    assert savings_of(fact, sentence, told) == Savings(
        sessions_with=2, failed_with=2, sessions_without=2, failed_without=2
    )


def test_a_missing_program_is_counted_whatever_it_was_for() -> None:
    learnt = (not_found("python a.py"), "python3 a.py")
    history = sessions(learnt, learnt)
    (line,) = lines_of(facts_of(history, {}))
    assert savings_of(line.fact, line.sentence, [(one, []) for one in history]).failed_without == 2
