from __future__ import annotations

import pytest
from told_sessions import Ran, attempts_of, not_found

from tokeneconomizer.domain.facts.lessons import Kind, lessons_in

Calls = tuple[Ran | str, ...]

TAUGHT: list[tuple[Calls, Kind, str, str]] = [
    ((not_found("pytest"), "uv run pytest"), Kind.WAY, "pytest", "uv run pytest"),
    ((not_found("python x.py"), "python3 x.py"), Kind.PROGRAM, "python", "python3"),
    ((not_found("python -m pytest"), "python3 -m pytest"), Kind.PROGRAM, "python", "python3"),
    ((Ran("npm test", "missing script"), "npm run test:unit"), Kind.WAY, "npm test", "npm run test:unit"),
    (
        (Ran("python -m pytest", "No module named, ModuleNotFoundError"), "poetry run pytest"),
        Kind.WAY,
        "python -m pytest",
        "poetry run pytest",
    ),
    ((Ran("npm install", "ERESOLVE"), "pnpm install"), Kind.WAY, "npm install", "pnpm install"),
    (
        (Ran("npx biome check --apply", "unknown option"), "npx biome check --write"),
        Kind.OPTION,
        "npx biome check --apply",
        "npx biome check --write",
    ),
    (
        (Ran("go test ./...", "no such file or directory"), "cd src && go test ./..."),
        Kind.FOLDER,
        "go test",
        "go test",
    ),
    (
        (Ran("pytest", "ImproperlyConfigured"), "SETTINGS=1 pytest"),
        Kind.VARIABLE,
        "pytest",
        "pytest",
    ),
    (
        (Ran("npm test", "cannot find module", verdict="error"), "npm ci", "npm test"),
        Kind.AFTER,
        "npm test",
        "npm ci",
    ),
    (
        (Ran("pytest", "ECONNREFUSED"), "docker compose up -d", "pytest"),
        Kind.AFTER,
        "pytest",
        "docker compose up -d",
    ),
    ((Ran("pytest", "ECONNREFUSED"),), Kind.SERVICE, "pytest", ""),
]


@pytest.mark.parametrize(("calls", "kind", "wrong", "right"), TAUGHT)
def test_a_way_that_failed_and_one_that_then_worked_teach(
    calls: Calls, kind: Kind, wrong: str, right: str
) -> None:
    ((lesson, _, _),) = lessons_in(attempts_of(*calls))
    assert (lesson.kind, lesson.wrong.text, lesson.right.text) == (kind, wrong, right)


@pytest.mark.parametrize(
    "calls",
    [
        # A typo, and a test that failed, are nobody's lesson.
        (not_found("pytst"), "pytest"),
        (Ran("pytest", "FAILED", verdict="failed"), "pytest"),
        (Ran("pytest", "AssertionError", verdict="failed"), "uv run pytest"),
        (Ran("mypy .", "error"), "uv run mypy ."),
        # It was mended, or came to work by itself.
        (Ran("npm test", "missing script"), Ran("npm run test:unit", edits_before=1)),
        (Ran("npm test", "cannot find module"), "npm test", "pnpm test"),
        # Another purpose.
        (not_found("pytest"), "npm run build"),
        # A name that was misspelt.
        (Ran("pytest tests/tset_a.py", "no such file or directory"), "uv run pytest tests/test_a.py"),
        # The shell stood in that folder already.
        (Ran("cd src && go test ./...", "no such file or directory"), "go test ./..."),
        # The network, not the way.
        (Ran("npm install", "ENOTFOUND"), "pnpm install"),
        # What followed much later.
        (not_found("pytest"), *["npm run lint"] * 10, "uv run pytest"),
        # Installing changed nothing that is known.
        (Ran("npm test", "missing script"), "npm ci", "npm test"),
    ],
)
def test_trivial_failures_teach_nothing(calls: Calls) -> None:
    assert list(lessons_in(attempts_of(*calls))) == []
