"""Programs that are no test runners themselves, by what they may have to do with tests."""

from __future__ import annotations

from tokeneconomizer.domain.verdicts.programs import words

TASK_RUNNERS = words(
    """
    make gmake mingw32-make nmake ninja npm yarn pnpm bun just task rake rails invoke inv fab composer
    hatch pdm poetry uv turbo nx lerna rush wireit mage doit nake earthly act dagger moon bazel buck
    buck2 pants meson cmake grunt gulp ng deno tilt sbt ant gradle gradlew mise devbox pre-commit
    artisan symfony
    """
)
"""Programs that run what a file of the project says."""

PACKAGE_MANAGERS = words("npm yarn pnpm bun composer poetry uv pdm hatch deno")

PACKAGE_COMMANDS = words(
    """
    install i ci add remove rm uninstall update upgrade up outdated audit ls list why info view init
    publish pack link prune dedupe sync lock config cache login version help set-script fund root prefix
    """
)
"""What package managers do themselves; their other words may name a script of the project."""

INERT_TOOLS = words(
    """
    ruff mypy pyright pylint flake8 black isort bandit pyflakes pycodestyle pydocstyle eslint tsc
    prettier biome oxlint stylelint rubocop standardrb golangci-lint gofmt goimports staticcheck clippy
    rustfmt rustc gcc g++ cc c++ clang clang++ clang-tidy clang-format ld javac kotlinc scalac
    shellcheck shfmt hadolint yamllint markdownlint phpstan psalm php-cs-fixer phpcs dialyzer credo
    swiftlint swiftformat cloc tokei git gh glab pip pip3 pipx apt apt-get brew conda dnf yum apk docker
    podman kubectl helm terraform psql mysql sqlite3 redis-cli cargo go mvn mvnw mvnd dotnet swift mix
    gem bundle bundler rustup nvm pyenv esbuild rollup vite webpack tsup swc next storybook systemctl
    service crontab openssl gpg nox tox playwright cypress pytest jest vitest mocha ctest
    """
)
"""Tools whose output may speak of tests but which run none, unless a family knows the call as a run."""

INERT_MODULES = words(
    """
    compileall py_compile pip venv virtualenv build json.tool http.server ruff mypy black isort flake8
    pylint pyright zipfile tarfile ensurepip site sysconfig timeit ast tokenize dis pdb pydoc twine
    """
)

INLINE_CODE = words("-c -e --eval -p --print -pe -ne -r")
"""Options of interpreters whose value is the program itself."""
