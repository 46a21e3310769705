from __future__ import annotations

import pytest
from told_sessions import sessions

from tokeneconomizer.domain.facts.life import Fact, facts_of
from tokeneconomizer.domain.facts.standing import still_holds

PACKAGE = '{"scripts": {"test": "vitest", "lint": "biome"}}'


def fact_of(command: str) -> Fact:
    (fact,) = facts_of(sessions((command,), (command,)), {})
    return fact


@pytest.mark.parametrize(
    ("command", "files", "holds"),
    [
        ("npm test", {"package.json": PACKAGE}, True),
        ("npm run build", {"package.json": PACKAGE}, False),
        ("npm test", {}, False),
        ("npm test", {"package.json": "{half"}, True),
        ("npm test", {"package.json": "[]"}, True),
        ("npm test", {"package.json": '{"scripts": 1}'}, True),
        ("cd ui && npm test", {"ui/package.json": PACKAGE}, True),
        ("cd ui && npm test", {"package.json": PACKAGE}, False),
        ("pnpm --filter @team/web test", {}, True),
        ("make test", {"Makefile": "build:\n\ntest: build\n\tpytest\n"}, True),
        ("make test", {"Makefile": "tests:\n\ttrue\ntest := 1\n"}, False),
        ("make test", {"Makefile": "include rules.mk\n"}, True),
        ("make test", {}, False),
        ("just lint", {"justfile": "lint path='.':\n    biome\n"}, True),
        ("just lint", {"justfile": "format:\n"}, False),
        ("./scripts/test.sh", {"scripts/test.sh": "#!/bin/sh"}, True),
        ("./scripts/test.sh", {}, False),
        ("cd src && go test ./...", {"src/go.mod": ""}, True),
        ("cd src && go test ./...", {}, False),
        ("cargo test", {}, True),
        ("pytest", {}, True),
        ("docker compose up -d", {}, True),
    ],
)
def test_a_fact_is_held_against_the_file_that_names_its_script(
    command: str, files: dict[str, str], holds: bool
) -> None:
    assert still_holds(fact_of(command), files.get) is holds
