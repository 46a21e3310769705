from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.facts.purposes import Purpose, purpose_of


@pytest.mark.parametrize(
    ("command", "purpose", "head"),
    [
        ("pytest -q tests", Purpose.TEST, "pytest"),
        ("python -m pytest tests/a.py", Purpose.TEST, "python -m pytest"),
        ("python3 -m unittest", Purpose.TEST, "python3 -m unittest"),
        ("uv run --extra dev pytest -x", Purpose.TEST, "uv run --extra dev pytest"),
        ("poetry run mypy .", Purpose.TYPES, "poetry run mypy"),
        ("npm test -- a.test.ts", Purpose.TEST, "npm test"),
        ("npm run test:unit", Purpose.TEST, "npm run test:unit"),
        ("pnpm --filter @team/web test", Purpose.TEST, "pnpm --filter @team/web test"),
        ("pnpm exec oxfmt --check a.md", Purpose.FORMAT, "pnpm exec oxfmt"),
        ("pnpm type-check", Purpose.TYPES, "pnpm type-check"),
        ("yarn", Purpose.SETUP, "yarn"),
        ("make -C lib test", Purpose.TEST, "make -C lib test"),
        ("make check", Purpose.CHECK, "make check"),
        ("just build", Purpose.BUILD, "just build"),
        ("go test ./...", Purpose.TEST, "go test"),
        ("go build ./cmd/a", Purpose.BUILD, "go build"),
        ("go vet ./...", Purpose.LINT, "go vet"),
        ("cargo clippy --all", Purpose.LINT, "cargo clippy"),
        ("npx biome check src", Purpose.LINT, "npx biome check"),
        ("./scripts/test.sh fast", Purpose.TEST, "./scripts/test.sh"),
        ("bash scripts/build.sh", Purpose.BUILD, "bash scripts/build.sh"),
        ("docker compose up -d", Purpose.SERVICE, "docker compose up"),
        ("npm run dev", Purpose.START, "npm run dev"),
        ("npm ci", Purpose.SETUP, "npm ci"),
    ],
)
def test_a_command_is_for_what_its_structure_says(command: str, purpose: Purpose, head: str) -> None:
    words = command.split()
    aim = purpose_of(words)
    assert aim is not None
    assert (aim.purpose, " ".join(words[: aim.head])) == (purpose, head)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m test",
        "grep pytest Makefile",
        "cat test.py",
        "echo npm test",
        "pnpm add -D eslint",
        "npm view jest version",
        "npm info",
        "ls tests",
        "rm -rf build",
        "python test",
        "vim pytest",
        "/opt/tools/test.sh",
        "node_modules/.bin/check.sh",
        "make",
        "npm",
    ],
)
def test_a_word_that_only_sounds_like_a_purpose_gives_none(command: str) -> None:
    assert purpose_of(command.split()) is None


WORDS = "npm run test -C pnpm exec uv bash a/b.sh -- - . / make yarn go"


@given(st.lists(st.sampled_from(WORDS.split())))
def test_any_words_are_read_and_the_head_is_part_of_them(words: list[str]) -> None:
    aim = purpose_of(words)
    assert aim is None or 0 < aim.head <= len(words)
