import shlex

import pytest

from tokeneconomizer.domain.verdicts.shell import Invocation, read_command


def called(run: Invocation) -> str:
    return " ".join([run.program, *([f"-m {run.module}"] if run.module else []), *run.arguments])


def calls(command: str) -> list[str]:
    return [called(run) for run in read_command(command).invocations]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", ["pytest -q"]),
        ("cd app && CI=1 pytest 'a b' \"c d\" e\\ f", ["cd app", "pytest a b c d e f"]),
        ("a | b |& c; d & e\nf || g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("./node_modules/.bin/jest --ci", ["jest --ci"]),
        ("C:/tools/go.exe test && ./gradlew.bat test", ["go test", "gradlew test"]),
        ("python3.11 -Bm pytest -q", ["python -m pytest -q"]),
        ("python -W error -m unittest -v", ["python -m unittest -v"]),
        ("python t.py -m x", ["python t.py -m x"]),
        ("python -c 'import a'", ["python -c import a"]),
        ("a \\\n  -b # c | d\ne", ["a -b", "e"]),
        ("true # pytest -q", ["true"]),
        (": 'pytest -q' && echo \"$x ${y:-z}\"", [": pytest -q", "echo $x ${y:-z}"]),
        ("a $'b\\tc' x{1,2} *.py", ["a b\tc x{1,2} *.py"]),
        ("pytest 2>&1 tests -q > log", ["pytest tests -q"]),
        ("> log pytest -q", ["pytest -q"]),
        ("[ -d a ] && [[ -f b ]] && ((i > 1)) || x=1", []),
        ("! a | b", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for x in $(a); do b; done; while c; do d; done", ["a", "b", "c", "d"]),
        ("case $(a) in x|y) b;; *) c;; esac", ["a", "b", "c"]),
        ("{ a; (b; c); } | d", ["a", "b", "c", "d"]),
        ("time ( a; b )", ["a", "b"]),
        ("f() { a; }; b; f", ["b", "a"]),
        ("f() { f; a; }; f", ["a"]),
        ("never() { a; }", []),
        ("x=$(a | b) c `d`", ["a", "b", "d", "c d".replace(" d", " `d`")]),
        ("diff <(a) <(b)", ["a", "b", "diff <(a) <(b)"]),
        ('echo "$(a "$(b)")"', ["b", "a $(b)", 'echo $(a "$(b)")']),
        ("export A=$(a) && B=b", ["a", "export A=$(a)"]),
        ("RUN='uv run'; $RUN pytest -q", ["pytest -q"]),
        ('B=build; ls "$B/x" ${B}y', ["ls build/x buildy"]),
    ],
)
def test_finds_the_programs_in_the_order_of_execution(command: str, expected: list[str]) -> None:
    reading = read_command(command)
    assert reading.parsed
    assert [called(run) for run in reading.invocations] == expected
    assert [run.position for run in reading.invocations] == list(range(len(expected)))


@pytest.mark.parametrize(
    ("command", "wrappers", "expected"),
    [
        ("timeout -s INT 60 pytest -q", ["timeout"], "pytest -q"),
        ("sudo -u ci -E env -i A=b nice -n 5 pytest", ["sudo", "env", "nice"], "pytest"),
        ("nohup stdbuf -oL nice -10 go test &", ["nohup", "stdbuf", "nice"], "go test"),
        ("time -p pytest", ["time"], "pytest"),
        ("xargs -n 1 -I{} pytest {}", ["xargs"], "pytest {}"),
        ("command pytest", ["command"], "pytest"),
        ("exec pytest", ["exec"], "pytest"),
        ("bash -c 'pytest -q'", ["bash -c"], "pytest -q"),
        ("sh -lc \"pytest 'a b'\"", ["sh -c"], "pytest a b"),
        ("bash -euo pipefail -c 'pytest'", ["bash -c"], "pytest"),
        ("bash -c \"sh -c 'pytest'\"", ["bash -c", "sh -c"], "pytest"),
        ("eval 'pytest -q'", ["eval"], "pytest -q"),
        ("uv run --with x pytest -q", ["uv run"], "pytest -q"),
        ("uv run -m pytest -q", ["uv run"], "python -m pytest -q"),
        ("uv run test_a.py", ["uv run"], "python test_a.py"),
        ("uvx --from x pytest@8 -q", ["uvx"], "pytest -q"),
        ("uv tool run tox", ["uvx"], "tox"),
        ("poetry run python -m pytest", ["poetry run"], "python -m pytest"),
        ("pipenv run pytest", ["pipenv run"], "pytest"),
        ("hatch run pytest", ["hatch run"], "pytest"),
        ("rye run pytest", ["rye run"], "pytest"),
        ("conda run -n env pytest", ["conda run"], "pytest"),
        ("coverage run --source a -m pytest -q", ["coverage run"], "python -m pytest -q"),
        ("python -m coverage run -m unittest", ["coverage run"], "python -m unittest"),
        ("coverage run manage.py test", ["coverage run"], "python manage.py test"),
        ("npx --yes jest@29 --ci", ["npx"], "jest --ci"),
        ("npx -p a -c 'jest --ci'", ["npx"], "jest --ci"),
        ("npx @playwright/test test", ["npx"], "@playwright/test test"),
        ("npm exec -- jest", ["npm exec"], "jest"),
        ("pnpm --filter web exec vitest run", ["pnpm exec"], "vitest run"),
        ("pnpm vitest run", ["pnpm"], "vitest run"),
        ("yarn jest -t x", ["yarn"], "jest -t x"),
        ("bunx vitest", ["bunx"], "vitest"),
        ("npx nyc --reporter text mocha -R dot", ["npx", "nyc"], "mocha -R dot"),
        ("cross-env CI=1 jest", ["cross-env"], "jest"),
        ("node --no-warnings node_modules/jest/bin/jest.js -i", ["node"], "jest -i"),
        ("php vendor/bin/phpunit tests", ["php"], "phpunit tests"),
        ("bundle exec rspec", ["bundle exec"], "rspec"),
        ("docker exec -it -w /app web pytest -q", ["docker exec"], "pytest -q"),
        ("docker run --rm -v a:b image sh -c 'pytest'", ["docker run", "sh -c"], "pytest"),
        ("docker compose -f c.yml exec -T web pytest", ["docker compose exec"], "pytest"),
        ("docker-compose run --rm web pytest", ["docker compose run"], "pytest"),
        ("kubectl exec -n a pod -c b -- pytest", ["kubectl exec"], "pytest"),
        ("ssh -p 22 host 'cd a && pytest'", ["ssh"], "pytest"),
        ("xvfb-run -a npx playwright test", ["xvfb-run", "npx"], "playwright test"),
        ("script -qec 'pytest -q' /dev/null", ["script"], "pytest -q"),
        ("flock -w 5 lock pytest", ["flock"], "pytest"),
        ("go run gotest.tools/gotestsum@v1.12.0 ./...", ["go run"], "gotestsum ./..."),
        ("nix develop .#x -c pytest", ["nix develop"], "pytest"),
        ("dotenv -f .env -- pytest", ["dotenv"], "pytest"),
        ("wsl -d Ubuntu pytest", ["wsl"], "pytest"),
        ("cmd //c 'npm test'", ["cmd /c"], "npm test"),
        ("pwsh -NoProfile -Command 'pytest -q'", ["pwsh -Command"], "pytest -q"),
    ],
)
def test_strips_what_stands_before_a_program(command: str, wrappers: list[str], expected: str) -> None:
    run = read_command(command).invocations[-1]
    assert (list(run.wrappers), called(run)) == (wrappers, expected)


@pytest.mark.parametrize(
    "command",
    [
        "command -v pytest",
        "env",
        "xargs",
        "bash t.sh",
        "yarn test",
        "yarn build:css",
        "pnpm -r test",
        "npm test",
        "bun test",
        "docker ps",
        "uv sync",
        "go run ./cmd/x",
        "node t.js",
        "coverage report -m",
        "nyc report",
        "make test",
        "su - postgres",
    ],
)
def test_a_program_that_wraps_nothing_here_is_the_program_itself(command: str) -> None:
    assert calls(command) == [command]
    assert read_command(command).invocations[0].wrappers == ()


def test_find_runs_programs() -> None:
    find, grep, remove = read_command("find . -name x -exec grep -q y {} \\; -exec rm {} +").invocations
    assert (find.program, called(grep), called(remove)) == ("find", "grep -q y {}", "rm {}")
    assert grep.wrappers == ("find -exec",)
    assert grep.guarded
    assert not remove.status_decides


def test_shells_within_shells_are_read_three_deep() -> None:
    assert calls("bash -c \"eval 'sh -c pytest'\"") == ["pytest"]
    deep = "pytest"
    for _ in range(4):
        deep = f"sh -c {shlex.quote(deep)}"
    run = read_command(deep).invocations[0]
    assert (run.program, run.wrappers, run.arguments[0]) == ("sh", ("sh -c",) * 3, "-c")


@pytest.mark.parametrize(
    ("command", "expected", "fed"),
    [
        ("cat <<'EOF' > t.py\npytest -q\nEOF\necho done", ["cat", "echo done"], "pytest -q\n"),
        ("cat > t <<A 2>&1 | tee x && b\n'\nA\nc", ["cat", "tee x", "b", "c"], "'\n"),
        ('a <<A <<-"B"\n1\nA\n\t2\n\tB\nb', ["a", "b"], "2\n"),
        ("python - <<'PY' | tail\nimport pytest\nPY", ["python -", "tail"], "import pytest\n"),
        ("git commit -m \"$(cat <<'E'\nfix: a (b\nE\n)\" && c", None, "fix: a (b\n"),
        ("a <<< 'b c'", ["a"], "b c\n"),
        ("a <<EOF\nno end", ["a"], "no end\n"),
        ("echo $((1 << 2)) '<<A' # <<A\nb", ["echo $((1 << 2)) <<A", "b"], ""),
    ],
)
def test_heredocs_are_text(command: str, expected: list[str] | None, fed: str) -> None:
    reading = read_command(command)
    assert reading.parsed
    assert reading.invocations[0].input_text == fed
    if expected is not None:
        assert [called(run) for run in reading.invocations] == expected


@pytest.mark.parametrize(
    "command",
    [
        "bash <<'EOF'\npytest -q\nEOF",
        "bash -s <<'EOF'\npytest -q\nEOF",
        "cat <<EOF | sh\npytest -q\nEOF",
        "sh <<< 'pytest -q'",
        "ssh host bash <<'EOF'\npytest -q\nEOF",
    ],
)
def test_a_heredoc_that_a_shell_reads_is_code(command: str) -> None:
    assert calls(command)[-1] == "pytest -q"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q &&", ["pytest -q"]),
        ("A=1 pytest 'a b | c; d", ["pytest a b | c; d"]),
        ("for f in a b\n  pytest $f\nend", ["for f in a b", "pytest $f", "end"]),
        ("! if a; then b; fi", ["a", "b"]),
        ("a; " * 200, ["a"] * 200),
    ],
)
def test_what_bash_or_the_grammar_refuses_is_read_by_words(command: str, expected: list[str]) -> None:
    reading = read_command(command)
    assert not reading.parsed or len(command) > 500
    assert [called(run) for run in reading.invocations] == expected
    if not reading.parsed:
        assert not any(run.status_decides or run.needed_for_success for run in reading.invocations)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.txt | grep passed", True),
        ("cd app && git log -p -1 && sed -n '1,9p' b", True),
        ("git -C a show HEAD:b | head", True),
        ("mkdir -p a && cat b", True),
        ("ls a && [ -d b ] && echo ok", True),
        ("find . -name '*.log' -exec cat {} +", True),
        ("gh run view 1 --log | tail", True),
        ("ls | xargs grep x", True),
        ("source .venv/bin/activate && cat a", True),
        ("npm view jest version", True),
        ("", True),
        ("cat a; pytest", False),
        ("git commit -m x", False),
        ("echo $(pytest)", False),
        ("find . -exec pytest {} +", False),
        (". ./run.sh", False),
        ("$CMD a", False),
        ("npm test", False),
        ("'", False),
    ],
)
def test_knows_when_all_is_print_and_search(command: str, expected: bool) -> None:
    assert read_command(command).quotes_only is expected
