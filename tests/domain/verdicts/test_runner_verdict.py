import json
import os
import random
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.verdicts import RULES_VERSION, Verdict, runner_verdict

GREEN = "...   [100%]\n3 passed in 0.02s\n"
RED = "F..   [100%]\n=== FAILURES ===\nFAILED t/test_a.py::test_a - assert 0\n1 failed, 2 passed in 0.02s\n"
JEST_GREEN = "Test Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n"
VITEST_GREEN = " Test Files  1 passed (1)\n      Tests  1 passed (1)\n"
CUT = "=== test session starts ===\n... [99 lines truncated] ...\n"
REPORT = '<testsuites><testsuite name="p" errors="0" failures="1" skipped="0" tests="3"/></testsuites>'
RULE_CHARACTERS_MAX = 60


@pytest.mark.parametrize(
    ("command", "exit_code", "output", "verdict"),
    [
        # What is asked for and hidden from the shell's exit code.
        ("pytest | tail -3", 0, RED, "failed"),
        ("pytest || true", 0, RED, "failed"),
        ("pytest; git diff --stat", 0, RED + " a.py | 2 +-\n", "failed"),
        ("make test-soft", 0, RED + "make: [Makefile:4: test-soft] Error 1 (ignored)\n", "failed"),
        ("! pytest", 1, GREEN, "passed"),
        ("pytest -q | grep failed", 1, "", "unknown"),
        ("pytest | wc -l", 0, "21\n", "unknown"),
        ("pytest -v | head -2", 0, "=== test session starts ===\nplatform linux\n", "unknown"),
        # Exit codes that are the runner's own.
        ("pytest > /dev/null 2>&1", 0, "", "passed"),
        ("pytest > /dev/null 2>&1", 1, "", "failed"),
        ("pytest > /dev/null 2>&1", 2, "", "error"),
        ("pytest > /dev/null 2>&1", 5, "", "no_tests"),
        ("pytest > /dev/null 2>&1; echo $?", 0, "1\n", "failed"),
        ("pytest > /dev/null 2>&1; echo $?", None, "0\n", "passed"),
        ("pytest > /dev/null 2>&1 && echo OK", None, "OK\n", "passed"),
        ("pytest > /dev/null 2>&1 || echo RED", None, "RED\n", "failed"),
        ('pytest 2>&1 | tail -0; echo "exit=${PIPESTATUS[0]}"', 0, "exit=1\n", "failed"),
        ("pytest 2>&1 | tail -0; echo $?", 0, "0\n", "unknown"),
        ("timeout 5 pytest", 124, "=== test session starts ===\n", "error"),
        ("pytest", 139, ".", "error"),
        ("pytest", 127, "bash: pytest: command not found\n", "error"),
        ("pytest --cov", 1, GREEN, "failed"),
        ("timeout 9 npx vitest --watch", 124, VITEST_GREEN, "passed"),
        ("timeout 9 npx jest", 124, JEST_GREEN, "error"),
        # An end without a summary proves nothing.
        ("python -m unittest", 0, "", "unknown"),
        ("python -m doctest m.py", 0, "", "passed"),
        ("mvn -q test", 0, "", "passed"),
        ("mvn -q test || true", 0, "", "unknown"),
        ("pytest", None, "=== test session starts ===\ncollected 3 items\n", "error"),
        ("pytest -v; true", 0, CUT, "unknown"),
        ("pytest -v", 0, CUT, "passed"),
        ("pytest -v", 1, CUT + "=== 1 failed in 1s ===", "failed"),
        # Several runs.
        ("pytest a; pytest b", 0, RED + GREEN, "failed"),
        ("pytest a && pytest b", 0, GREEN + GREEN, "passed"),
        ("pytest a && pytest b", 1, RED, "failed"),
        ("npx jest; pytest", 1, JEST_GREEN + RED, "failed"),
        ("pytest; npx jest", 0, RED + JEST_GREEN, "failed"),
        ("pytest | head -0; npx jest", 0, JEST_GREEN, "unknown"),
        ("pytest || npx jest", 0, GREEN, "passed"),
        ("for i in 1 2; do pytest; done", 0, GREEN + RED, "failed"),
        ("pytest; sed -i s/1/2/ a.py; pytest", 0, RED + GREEN, "passed"),
        ("pytest; sed -n 1p a.py; pytest", 0, RED + GREEN, "failed"),
        # Old and quoted texts.
        ("cat log.txt", 0, RED, "not_a_test_run"),
        ("grep -n passed log.txt", 0, "7:3 passed in 0.02s\n", "not_a_test_run"),
        ("git log -1", 0, "    3 passed in 0.02s\n", "not_a_test_run"),
        ("echo '3 passed in 0.1s'", 0, "3 passed in 0.1s\n", "not_a_test_run"),
        ("python -c \"print('3 passed in 0.1s')\"", 0, "3 passed in 0.1s\n", "not_a_test_run"),
        ("true # pytest", 0, "", "not_a_test_run"),
        ("cat red.txt; pytest", 0, RED + GREEN, "passed"),
        ("pytest && cat red.txt", 0, GREEN + RED, "passed"),
        ("pytest; cat green.txt", 0, RED + GREEN, "failed"),
        ("pytest | tail -0; cat green.txt", 0, GREEN, "unknown"),
        ("pytest > out.txt; tail -3 out.txt", 0, RED, "failed"),
        ("pytest | tee out.txt | tail -1", 0, "3 passed in 0.1s\n", "passed"),
        ("npx jest > log 2>&1; grep -n passed log", 0, "8:Tests:       1 failed, 2 total\n", "failed"),
        ("pytest -q | tail -1; echo 'all tests passed'", 0, "1 failed in 0.1s\nall tests passed\n", "failed"),
        ("pytest --junitxml=r.xml > /dev/null; cat r.xml", 0, REPORT, "failed"),
        # What runs a project's own words is judged by the output.
        ("make test", 0, GREEN, "passed"),
        ("npm test", 1, "> jest\n" + JEST_GREEN.replace("1 passed, 1 total", "1 failed, 1 total"), "failed"),
        ("just check", 0, GREEN, "passed"),
        ("./run.sh", 0, "lint\n" + GREEN + "done\n", "passed"),
        ("./check.sh", 0, "All good\n", "unknown"),
        ("npm run build", 0, "built\n", "not_a_test_run"),
        ("python app.py", 1, "Traceback (most recent call last):\n", "not_a_test_run"),
        ("npm test", 1, "Error: no test specified\n", "not_a_test_run"),
        ("npm test", 1, 'npm error Missing script: "test"\n', "error"),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop.\n", "error"),
        ("make test | tail -1", 0, "make: *** [Makefile:2: test] Error 1\n", "failed"),
        ("make test | tail -1", 0, "make: *** [Makefile:9: a.o] Error 1\n", "error"),
        ("cargo test", None, "error: could not find `Cargo.toml` in `/x`\n", "error"),
        ("cmake --build b && ctest || true", 0, "/x/a.c:1:19: error: x\n", "error"),
        ("npx eslint . && pytest", 0, GREEN, "passed"),
        ("pytest && npx eslint .", 1, GREEN + "1 problem\n", "passed"),
        ("pytest -q &&", 2, "bash: -c: line 2: syntax error: unexpected end of file\n", "error"),
        # An agent's prefix.
        ("pytest > /dev/null", None, "Exit code 1\n", "failed"),
        ("pytest 2>&1 | Select-Object -Last 3", None, RED, "failed"),
    ],
)  # fmt: skip
def test_command_exit_code_and_output_are_read_together(
    command: str, exit_code: int | None, output: str, verdict: str
) -> None:
    assert runner_verdict(command, exit_code, output).verdict == verdict


@pytest.mark.parametrize(
    ("command", "output", "line"),
    [
        ("pytest", GREEN, 2),
        ("pytest", RED, 4),
        ("npx jest", "\x1b[1mx\r\n" + JEST_GREEN, 3),
        ("pytest", "", None),
    ],
)
def test_the_line_that_decided_is_named(command: str, output: str, line: int | None) -> None:
    said = runner_verdict(command, None, output)
    assert said.line == line
    assert said.version == RULES_VERSION


def test_numbers_of_several_summaries_are_not_added_up() -> None:
    said = runner_verdict("pytest a; pytest b", 0, GREEN + GREEN)
    assert (said.verdict, said.passed) == ("passed", None)


@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_long_log_before_the_summary_changes_nothing(verdict: str) -> None:
    noise = "2026-01-01 some log line with an error: text\n" * 20_000
    output = noise + (GREEN if verdict == "passed" else RED)
    said = runner_verdict("pytest -s", None, output)
    assert said.verdict == verdict
    assert said.line == output.count("\n")


OUTPUTS = [
    ("pytest", GREEN),
    ("pytest", RED),
    ("npx jest", JEST_GREEN),
    ("npx vitest run", " Test Files  1 failed | 1 passed (2)\n      Tests  2 passed (2)\n"),
    ("go test ./...", "ok  \ta\t0.1s\nFAIL\tb [build failed]\nFAIL\n"),
    ("cargo test", "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"),
    ("rspec", "\nFinished in 0.1 seconds\n2 examples, 1 failure\n"),
    ("npx mocha", "\n  2 passing (3ms)\n  1 failing\n"),
    ("phpunit", "Time: 0.1\n\nOK (2 tests, 2 assertions)\n"),
    ("make test", "100% tests passed, 0 tests failed out of 2\n"),
]


@settings(deadline=None)
@given(st.sampled_from(OUTPUTS), st.randoms(use_true_random=False))
def test_colour_and_progress_change_no_verdict(case: tuple[str, str], chance: random.Random) -> None:
    command, output = case
    noisy = []
    for line in output.split("\n"):
        words = [f"\x1b[3{chance.randrange(8)}m{word}\x1b[0m" if word else word for word in line.split(" ")]
        progress = "".join(f"{chance.randrange(100)} %\r" for _ in range(chance.randrange(3)))
        noisy.append(f"{progress}\x1b[2K{' '.join(words)}" if line else line)
    plain = runner_verdict(command, None, output)
    coloured = runner_verdict(command, None, "\r\n".join(noisy))
    assert (coloured.verdict, coloured.passed, coloured.failed) == (plain.verdict, plain.passed, plain.failed)


@settings(deadline=None)
@given(
    st.sampled_from(OUTPUTS),
    st.lists(st.sampled_from(["log", "", "collected 3 items", "==> step"]), max_size=9),
)
def test_lines_before_the_summary_change_no_verdict(case: tuple[str, str], before: list[str]) -> None:
    command, output = case
    longer = "\n".join([*before, "", output])
    assert runner_verdict(command, None, longer).verdict == runner_verdict(command, None, output).verdict


FRAGMENTS = (
    *"\n \r\x1b[=!-#.:|{}\"'\\0123",
    *(
        "passed",
        "failed",
        "FAILED",
        "error",
        "ok ",
        "not ok ",
        "1..3",
        " in 0.1s",
        "Tests:",
        "Ran 2 tests in",
    ),
    *(
        "test result:",
        "[  PASSED  ] ",
        "--- FAIL: ",
        '{"Action":"fail","Package":"a"}',
        "<testsuite ",
        "passing",
    ),
    *("\x1b[31m", "lines truncated", "\u2139 pass 1", "BUILD SUCCESS", "Files=1, Tests=", "OK", "coverage"),
    *("# pass 1", "running 2 tests", "Summary [ 1s] ", "make: *** [a] Error 1", "Test Files  1 passed"),
)
COMMANDS = (
    "pytest",
    "make test",
    "npx jest | tail -3",
    "go test ./...; cat a",
    "cargo test || true",
    "cat a",
    "",
)


@settings(deadline=None)
@given(
    st.one_of(st.text(max_size=80), st.sampled_from(COMMANDS)),
    st.one_of(st.none(), st.integers(-9, 300)),
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
)
def test_nothing_raises_and_rules_are_short_words_of_ours(
    command: str, code: int | None, output: str
) -> None:
    said = runner_verdict(command, code, output)
    assert len(said.rule) <= RULE_CHARACTERS_MAX
    assert said.line is None or 1 <= said.line <= output.count("\n") + 1


def corpus() -> list[dict[str, object]]:
    folder = os.environ.get("TOKENECONOMIZER_CORPUS")
    root = Path(folder) if folder else Path(__file__).resolve().parents[4] / "shared"
    file = root / "verdicts" / "dev.jsonl"
    if not file.is_file():
        pytest.skip(f"no recorded outputs of test runners at {file}")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


RED_VERDICTS = {Verdict.FAILED.value, Verdict.ERROR.value}


@pytest.mark.parametrize("exit_codes", [True, False])
def test_recorded_outputs_are_read_as_they_were_meant(exit_codes: bool) -> None:
    records = corpus()
    strict = lenient = red = red_found = 0
    for record in records:
        truth = cast("dict[str, object]", record["truth"])
        code = cast("int | None", record["shell_exit_code"]) if exit_codes else None
        said = runner_verdict(str(record["command"]), code, str(record["output"])).verdict.value
        wanted = str(truth["verdict"])
        accepted = {wanted, *cast("list[str]", truth["alt"])}
        strict += said == wanted
        lenient += said in accepted or (said in RED_VERDICTS and bool(accepted & RED_VERDICTS))
        red += wanted in RED_VERDICTS
        red_found += wanted in RED_VERDICTS and said in RED_VERDICTS
        assert not (wanted in RED_VERDICTS and said == "passed"), record["id"]
    # Without exit codes a run that prints nothing cannot be known.
    assert strict / len(records) >= 0.97
    assert lenient / len(records) >= (0.99 if exit_codes else 0.97)
    assert red_found / red >= 0.98
