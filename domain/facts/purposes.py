"""
What a command is for: told by its program and sub-command, or by the name of the script that it runs.

`purpose_of` looks at one simple command, its words without quotes. The head it returns is the part that makes
the command what it is: runner, program, sub-command or script, without arguments.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from tokeneconomizer.domain.command_rules import program_name
from tokeneconomizer.domain.verdicts.programs import words as words_of


class Purpose(StrEnum):
    """What a command is run for; the order is that of the block's lines."""

    TEST = "test"
    CHECK = "check"
    LINT = "lint"
    TYPES = "types"
    FORMAT = "format"
    BUILD = "build"
    START = "start"
    SETUP = "setup"
    SERVICE = "service"


class Aim(NamedTuple):
    """
    A command's purpose and head.

    Attributes:
        purpose: what it is run for.
        head: how many of its words are its head.
        script: the name that the repository gives a meaning to (`test` of `npm run test`), or empty.

    """

    purpose: Purpose
    head: int
    script: str = ""


_TOOLS = {
    Purpose.TEST: """
        pytest; py.test; unittest; tox; nox; go test; gotestsum; cargo test; cargo nextest run; jest;
        vitest run; vitest; mocha; ava; rspec; phpunit; pest; mvn test; mvnw test; gradle test; gradlew test;
        dotnet test; mix test; swift test; bun test; deno test; ctest; playwright test; cypress run;
        node --test; flutter test; dart test; sbt test; lein test; stack test; cabal test; zig build test
    """,
    Purpose.BUILD: """
        go build; cargo build; mvn package; mvn compile; mvn install; mvnw package; gradle build;
        gradle assemble; gradlew build; gradlew assemble; dotnet build; swift build; mix compile; tsup;
        vite build; next build; astro build; nuxt build; webpack; rollup; docker build; cmake --build;
        python -m build; zig build; stack build; cabal build; hugo; mkdocs build
    """,
    Purpose.LINT: """
        ruff check; flake8; pylint; eslint; biome check; biome lint; oxlint; golangci-lint run; cargo clippy;
        go vet; rubocop; shellcheck; stylelint; ktlint; swiftlint; pre-commit run; markdownlint; yamllint;
        hadolint; knip; textlint; phpstan; clang-tidy; mix credo
    """,
    Purpose.FORMAT: """
        black; ruff format; prettier; biome format; gofmt; goimports; cargo fmt; rustfmt; oxfmt; isort;
        dotnet format; mix format; terraform fmt; shfmt; clang-format
    """,
    Purpose.TYPES: "mypy; pyright; basedpyright; tsc; vue-tsc; ty check; cargo check; astro check",
    Purpose.START: """
        next dev; vite dev; astro dev; nuxt dev; astro preview; flask run; uvicorn; rails server;
        cargo run; wrangler dev
    """,
    Purpose.SETUP: """
        npm install; npm ci; npm i; pnpm install; pnpm i; yarn install; bun install; uv sync; poetry install;
        pdm install; pipenv install; bundle install; composer install; go mod download; mix deps.get;
        dotnet restore; pip install -r; pip install -e; uv pip install -r; uv pip install -e; cargo fetch
    """,
    Purpose.SERVICE: """
        docker compose up; docker-compose up; podman compose up; docker start; systemctl start;
        brew services start; supabase start; pg_ctl start
    """,
}
"""Commands by the words that they begin with."""

_TOOL_WORDS: dict[tuple[str, ...], Purpose] = {
    tuple(command.split()): purpose for purpose, commands in _TOOLS.items() for command in commands.split(";")
}
_TOOL_WORDS_MAX = max(map(len, _TOOL_WORDS))
_PROGRAMS = frozenset(words[0] for words in _TOOL_WORDS)

_RUNNERS = words_of(
    """
    npx bunx pnpm yarn npm bun uv uvx poetry pdm hatch pipenv bundle python pipx mise nix devbox dotenv
    """
)
"""Programs that start another one, with words of their own before it."""

_STARTING_WORDS = frozenset({"run", "exec", "dlx", "x"})
"""Sub-commands of runners that start a program; `pnpm add eslint` does not."""

_RUNNER_WORDS_MAX = 5
"""`uv run --extra dev` and the like: what stands farther from the runner is an argument."""

_TASK_RUNNERS = words_of(
    "npm pnpm yarn bun make gmake just task rake composer poe mise deno nx turbo invoke inv"
)
"""Programs whose first word names a script of the repository."""

_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun", "composer", "mise", "deno"})
_RUN_WORDS = frozenset({"run", "run-script", "task", "r"})
_SCRIPTS_WITHOUT_RUN = frozenset({"test", "start", "t"})
"""What npm runs without `run`."""

_TASK_FLAGS_WITH_VALUE = words_of(
    "-C --prefix --filter -F --workspace -w --dir --cwd -f --file --directory --project -p"
)

INTERPRETERS = frozenset({"bash", "sh", "zsh", "fish", "python", "node", "ruby", "tsx", "pwsh"})
_SCRIPT = r"(?:\.{1,2}/)?(?:[\w.-]+/){0,4}[\w-]+(?:\.(?:sh|bash|fish|py|js|mjs|ts|rb|ps1))?"
_SCRIPT_FILE = re.compile(_SCRIPT)
_SCRIPT_WORDS = re.compile(rf"(?<![^\s;&|]){_SCRIPT}(?![^\s;&|<>])")

_NAME_PARTS = re.compile(r"[^a-z0-9]+")
_NAMES: dict[str, Purpose] = {
    **dict.fromkeys(("test", "tests", "spec", "specs", "e2e", "unittest", "pytest", "vitest"), Purpose.TEST),
    **dict.fromkeys(("build", "compile", "bundle"), Purpose.BUILD),
    **dict.fromkeys(("lint", "eslint", "clippy", "vet", "ruff"), Purpose.LINT),
    **dict.fromkeys(("format", "fmt", "prettier"), Purpose.FORMAT),
    **dict.fromkeys(("typecheck", "types", "type", "tsc", "mypy"), Purpose.TYPES),
    **dict.fromkeys(("check", "checks", "validate", "verify", "ci", "precommit"), Purpose.CHECK),
    **dict.fromkeys(("start", "dev", "serve"), Purpose.START),
    **dict.fromkeys(("setup", "bootstrap", "install", "deps"), Purpose.SETUP),
}
"""What a script is for, by the words of its name."""


_WORDS = re.compile(r"[A-Za-z][A-Za-z-]*")

# As the expression above finds them: `py.test` begins with `py`.
_FIRST_WORDS = frozenset(_WORDS.findall(name)[0] for name in _PROGRAMS | _TASK_RUNNERS)


def may_have_purpose(line: str) -> bool:
    """Return whether some command of a line may have a purpose: a quick look, before it is read."""
    if not _FIRST_WORDS.isdisjoint(_WORDS.findall(line)):
        return True
    return "/" in line and any("/" in word and _of_script(word) for word in _SCRIPT_WORDS.findall(line))


def purpose_of(words: list[str]) -> Aim | None:
    """Return what a simple command is for; None where its structure does not tell."""
    if not words:
        return None
    return _tool(words) or _task(words) or _script_file(words)


def _tool(words: list[str]) -> Aim | None:
    last_start = _RUNNER_WORDS_MAX if program_name(words[0]) in _RUNNERS else 0
    for start in range(min(last_start, len(words) - 1) + 1):
        name = program_name(words[start])
        # A path elsewhere is a file that the runner is to work on.
        if name not in _PROGRAMS or (start and (name != words[start] or not _starts(words[1:start]))):
            continue
        for length in range(min(_TOOL_WORDS_MAX, len(words) - start), 0, -1):
            purpose = _TOOL_WORDS.get((name, *words[start + 1 : start + length]))
            if purpose is not None:
                return Aim(purpose, start + length)
    return None


def _starts(between: list[str]) -> bool:
    """Return whether the words between a runner and a program have the runner start it."""
    return not between or between[0] in _STARTING_WORDS or between[0].startswith("-")


def _task(words: list[str]) -> Aim | None:
    runner = program_name(words[0])
    if runner not in _TASK_RUNNERS:
        return None
    place, ran = 1, False
    while place < len(words):
        word = words[place]
        if word in _TASK_FLAGS_WITH_VALUE:
            place += 1
        elif word in _RUN_WORDS and not ran and runner in _PACKAGE_MANAGERS:
            ran = True
        elif not word.startswith("-"):
            break
        place += 1
    else:
        # `yarn` alone installs.
        return Aim(Purpose.SETUP, 1) if words == ["yarn"] else None
    name = words[place]
    if runner == "npm" and not ran and name not in _SCRIPTS_WITHOUT_RUN:
        return None
    purpose = _by_name("test" if name == "t" else name)
    return Aim(purpose, place + 1, name) if purpose else None


def _script_file(words: list[str]) -> Aim | None:
    place = 1 if program_name(words[0]) in INTERPRETERS and len(words) > 1 else 0
    path = words[place]
    if "/" not in path or path.startswith(("/", "~")) or not _SCRIPT_FILE.fullmatch(path):
        return None
    if "node_modules/" in path or ".venv/" in path:
        return None
    purpose = _of_script(path)
    return Aim(purpose, place + 1, path) if purpose else None


def _of_script(path: str) -> Purpose | None:
    name = path.rpartition("/")[2]
    return _by_name(name.rpartition(".")[0] or name)


def _by_name(name: str) -> Purpose | None:
    parts = [part for part in _NAME_PARTS.split(name.lower()) if part]
    found = [_NAMES[part] for part in parts if part in _NAMES]
    if Purpose.TYPES in found:
        # `type-check` checks types.
        return Purpose.TYPES
    return found[0] if found else None
