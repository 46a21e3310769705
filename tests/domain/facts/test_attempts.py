from __future__ import annotations

import pytest
from told_sessions import Ran, attempts_of

from tokeneconomizer.domain.facts.attempts import Outcome, key_of


@pytest.mark.parametrize(
    ("ran", "outcome"),
    [
        (Ran("npm test"), Outcome.WORKED),
        (Ran("npm test | tail -3", verdict="passed"), Outcome.WORKED),
        (Ran("npm test", "FAILED", verdict="failed"), Outcome.FAILED),
        (Ran("npm test", "cannot find module, FAILED", verdict="failed"), Outcome.FAILED),
        (Ran("npm test", "missing script"), Outcome.NO_SCRIPT),
        (Ran("pytest", "command not found", 127), Outcome.NO_PROGRAM),
        (Ran("pytest", "error", 127), Outcome.NO_PROGRAM),
        (Ran("pytest", "ModuleNotFoundError", verdict="error"), Outcome.NO_MODULE),
        (Ran("pytest --unheard", "unrecognized arguments"), Outcome.BAD_OPTION),
        (Ran("pytest", "ECONNREFUSED, error", verdict="error"), Outcome.NO_SERVICE),
        (Ran("pytest", "error", verdict="no_tests"), Outcome.NO_TESTS),
        (Ran("pytest x.py", "no such file or directory"), Outcome.NO_FILE),
        (Ran("npm install", "ENOTFOUND"), Outcome.NO_NETWORK),
        (Ran("mypy .", "error"), Outcome.FAILED),
        (Ran("npm run dev", background=True), Outcome.WORKED),
    ],
)
def test_how_a_way_went_is_read_from_what_is_stored(ran: Ran, outcome: Outcome) -> None:
    (attempt,) = attempts_of(ran)
    assert attempt.outcome == outcome


@pytest.mark.parametrize(
    "ran",
    [
        Ran("npm test | tail -3"),
        Ran("npm test", verdict="failed"),
        Ran("npm test", verdict="error"),
        Ran("npm test", status="never_ran"),
        Ran("npm test", background=True),
        Ran("git pull && npm test", "missing script"),
    ],
)
def test_where_it_cannot_be_told_there_is_no_attempt(ran: Ran) -> None:
    assert [attempt for attempt in attempts_of(ran) if attempt.purpose] == []


@pytest.mark.parametrize(
    ("head", "key"),
    [
        ("npm run test", "npm test"),
        ("pnpm run-script lint", "pnpm lint"),
        ("./scripts/test.sh", "scripts/test.sh"),
        ("uv run pytest", "uv run pytest"),
    ],
)
def test_spellings_of_one_way_have_one_key(head: str, key: str) -> None:
    assert key_of(head) == key
