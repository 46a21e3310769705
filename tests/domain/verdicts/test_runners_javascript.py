import json

import pytest
from verdict_words import in_words

from tokeneconomizer.domain.verdicts import runner_verdict

SUITES = "Test Suites: {suites}\nTests:       {tests}\nSnapshots:   0 total\nTime:        1 s\n"


def jest(suites: str, tests: str) -> str:
    return SUITES.format(suites=suites, tests=tests)


def vitest(files: str, tests: str) -> str:
    return f" Test Files  {files}\n      Tests  {tests}\n   Start at  10:00:00\n   Duration  1ms\n"


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("npx jest", jest("2 passed, 2 total", "5 passed, 5 total"), "passed, 5 passed"),
        (
            "npx jest",
            jest("1 failed, 2 total", "1 failed, 1 skipped, 3 passed, 5 total"),
            "failed, 3 passed, 1 failed, 1 skipped",
        ),
        ("npx jest", jest("1 failed, 1 passed, 2 total", "2 passed, 2 total"), "error, 2 passed"),
        ("npx jest", jest("1 passed, 1 total", "1 skipped, 1 todo, 2 total"), "no_tests, 1 skipped"),
        ("npx jest", "No tests found, exiting with code 1\n", "no_tests"),
        (
            "npx jest --coverage",
            'Jest: "global" coverage threshold for lines (90%) not met: 50%\n'
            + jest("1 passed, 1 total", "1 passed, 1 total"),
            "failed, 1 passed",
        ),
        (
            "npx jest --json",
            json.dumps(
                {
                    "numFailedTests": 1,
                    "numPassedTests": 2,
                    "numTotalTests": 3,
                    "numPendingTests": 0,
                    "success": False,
                }
            ),
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        ("npx jest", "FAIL src/a.test.ts\n  ● Test suite failed to run\n", "failed"),
        ("npx vitest run", vitest("1 passed (1)", "2 passed (2)"), "passed, 2 passed"),
        (
            "npx vitest run",
            vitest("1 failed | 1 passed (2)", "1 failed | 3 passed (4)"),
            "failed, 3 passed, 1 failed",
        ),
        ("npx vitest run", vitest("1 failed | 1 passed (2)", "2 passed (2)"), "error, 2 passed"),
        (
            "npx vitest run",
            vitest("1 passed (1)", "2 passed (2)").replace("   Start", "     Errors  1 error\n   Start"),
            "error, 2 passed, 1 errors",
        ),
        ("npx vitest run", vitest("1 skipped (1)", "1 skipped | 1 todo (2)"), "no_tests, 1 skipped"),
        ("npx vitest run", "No test files found, exiting with code 1\n", "no_tests"),
        (
            "npx mocha",
            "\n  2 passing (8ms)\n  1 pending\n  1 failing\n\n  1) a\n",
            "failed, 2 passed, 1 failed, 1 skipped",
        ),
        ("npx mocha", "\n  2 passing (8ms)\n\n", "passed, 2 passed"),
        ("npx mocha", "\n  0 passing (1ms)\n\n", "no_tests, 0 passed"),
        (
            "npx mocha -R json",
            (
                '{\n  "stats": {\n    "suites": 1,\n    "tests": 2,\n    "passes": 1,\n    "pending": 0,\n'
                '    "failures": 1,\n'
            ),
            "failed, 1 passed, 1 failed, 0 skipped",
        ),
        ("npx ava", "\n  ✔ a\n  ─\n\n  2 tests passed\n", "passed, 2 passed"),
        ("npx ava", "\n  ─\n\n  1 test failed\n", "failed, 1 failed"),
        ("npx ava", "\n  ─\n\n  1 test passed\n  1 unhandled rejection\n", "error, 1 passed"),
        ("npx ava", "\n  ─\n\n  1 known failure\n  1 test todo\n", "passed"),
        (
            "npx playwright test",
            "\nRunning 2 tests using 1 worker\n\n  2 passed (1.0s)\n",
            "passed, 2 passed",
        ),
        (
            "npx playwright test",
            "\n  1 failed\n    e2e/a.ts:2:1 \u203a a ───\n  1 skipped\n  1 passed (2s)\n",
            "failed, 1 passed, 1 failed, 1 skipped",
        ),
        (
            "npx playwright test",
            "\n  1 flaky\n    e2e/a.ts:2:1 \u203a a ───\n  1 passed (2s)\n",
            "passed, 1 passed",
        ),
        (
            "npx playwright test --fail-on-flaky-tests",
            "\n  1 flaky\n    a.ts:2:1 \u203a a\n  1 passed (2s)\n",
            "failed, 1 passed",
        ),
        ("npx playwright test | tail -1", "  1 passed (2s)\n", "unknown"),
        (
            "npx jasmine",
            "3 specs, 1 failure, 1 pending spec\nFinished in 0.1 seconds\n",
            "failed, 1 failed, 1 skipped",
        ),
        ("npx jasmine", "2 specs, 0 failures\nFinished in 0.1 seconds\n", "passed, 2 passed, 0 failed"),
        (
            "npx uvu tests",
            "  Total:     3\n  Passed:    2\n  Skipped:   0\n  Duration:  1ms\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        (
            "bun test",
            " 2 pass\n 1 fail\n 3 expect() calls\nRan 3 tests across 1 file. [8ms]\n",
            "failed, 2 passed, 1 failed",
        ),
        ("bun test", " 0 pass\n 0 fail\nRan 0 tests across 1 file. [8ms]\n", "no_tests, 0 passed, 0 failed"),
        (
            "deno test",
            "\nok | 2 passed | 0 failed | 1 ignored (16ms)\n",
            "passed, 2 passed, 0 failed, 1 skipped",
        ),
        (
            "deno test",
            "\nFAILED | 1 passed | 1 failed (16ms)\n\nerror: Test failed\n",
            "failed, 1 passed, 1 failed",
        ),
        (
            "node --test",
            "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        (
            "node --test",
            "# tests 2\n# pass 1\n# fail 0\n# cancelled 1\n# skipped 0\n",
            "failed, 1 passed, 0 failed, 0 skipped",
        ),
        (
            "node --test",
            "\u2139 tests 2\n\u2139 pass 2\n\u2139 fail 0\n\u2139 cancelled 0\n\u2139 skipped 0\n",
            "passed, 2 passed, 0 failed, 0 skipped",
        ),
        ("npx tape test/*.js", "ok 1 a\n\n1..1\n# tests 1\n# pass  1\n\n# ok\n", "passed, 1 passed"),
        ("npx tap", "1..2\nok 1 - a\nnot ok 2 - b\n", "failed"),
        ("npx karma start", "Executed 3 of 3 (1 FAILED) (0.1 secs / 0.0 secs)\n", "failed, 1 failed"),
        ("npx cypress run", "    ✖  1 of 2 failed (50%)    00:03\n", "failed"),
    ],
)
def test_what_runners_of_javascript_close_with(command: str, output: str, said: str) -> None:
    assert in_words(runner_verdict(command, None, output)) == said


def test_numbers_that_a_mocha_test_prints_do_not_count() -> None:
    output = "\n  messages\n  1 failing\n    ✔ prints 1 failing\n\n\n  1 passing (3ms)\n\n"
    assert runner_verdict("npx mocha || true", 0, output).verdict == "passed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx mocha 2>&1 | grep passing", "  2 passing (8ms)\n"),
        ("npx playwright test | grep passed", "  2 passed (1.0s)\n"),
        ("node --test | grep -E 'pass|fail'", "# pass 1\n# fail 0\n"),
    ],
)
def test_green_lines_prove_nothing_where_a_filter_drops_the_red_ones(command: str, output: str) -> None:
    assert runner_verdict(command, 0, output).verdict == "unknown"


@pytest.mark.parametrize(
    "command",
    [
        "npx jest --listTests",
        "npx vitest list",
        "npx playwright test --list",
        "npx playwright install",
        "npm install",
        "npm run build",
        "npx eslint src",
        "bun install",
    ],
)
def test_calls_that_run_no_test_are_no_test_run(command: str) -> None:
    assert runner_verdict(command, 0, "done\n").verdict == "not_a_test_run"
