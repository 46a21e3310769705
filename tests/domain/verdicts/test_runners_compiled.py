import json

import pytest
from verdict_words import in_words

from tokeneconomizer.domain.verdicts import runner_verdict

RESULT = "test result: {}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in 0.00s\n"


def events(*rows: tuple[str, str]) -> str:
    lines = [
        {"Action": action, "Package": "example.com/a"} | ({"Test": test} if test else {})
        for action, test in rows
    ]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("go test ./...", "ok  \texample.com/a\t0.01s\n?   \texample.com/b\t[no test files]\n", "passed"),
        (
            "go test ./...",
            "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.01s\nok  \texample.com/b\t0.1s\nFAIL\n",
            "failed",
        ),
        ("go test ./...", "FAIL\texample.com/a [build failed]\nok  \texample.com/b\t0.1s\nFAIL\n", "error"),
        ("go test ./...", "panic: test timed out after 1s\n\nFAIL\texample.com/a\t1.0s\nFAIL\n", "error"),
        ("go test -run Zzz .", "ok  \texample.com/a\t0.01s [no tests to run]\n", "no_tests"),
        (
            "go test -v .",
            "=== RUN   TestA\n--- SKIP: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.1s\n",
            "no_tests",
        ),
        (
            "go test -v .",
            "=== RUN   TestFAIL\n--- FAIL: quoted\n--- PASS: TestFAIL (0.00s)\nPASS\nok  \ta\t0.1s\n",
            "passed",
        ),
        ("go test ./... | tail -1", "?   \texample.com/b\t[no test files]\n", "unknown"),
        ("go test ./... | grep ^ok", "ok  \texample.com/a\t0.01s\n", "unknown"),
        ("go test ./... | head -1", "ok  \texample.com/a\t0.01s\n", "unknown"),
        ("go test -json .", events(("pass", "TestA"), ("pass", "")), "passed"),
        ("go test -json .", events(("fail", "TestA"), ("fail", "")), "failed"),
        ("gotestsum", "DONE 4 tests, 1 skipped, 1 failure in 0.6s\n", "failed, 1 failed, 1 skipped"),
        ("gotestsum", "DONE 0 tests, 1 error in 0.2s\n", "error, 1 errors"),
        ("gotestsum", "DONE 4 tests in 0.6s\n", "passed"),
        (
            "cargo test",
            "running 2 tests\n" + RESULT.format("ok", 2, 0, 0),
            "passed, 2 passed, 0 failed, 0 skipped",
        ),
        ("cargo test", RESULT.format("ok", 1, 0, 0) + RESULT.format("FAILED", 1, 1, 0), "failed"),
        (
            "cargo test",
            RESULT.format("ok", 0, 0, 0) + RESULT.format("ok", 0, 0, 0),
            "no_tests, 0 passed, 0 failed, 0 skipped",
        ),
        ("cargo test", RESULT.format("ok", 0, 0, 2), "no_tests, 0 passed, 0 failed, 2 skipped"),
        ("cargo test", "running 2 tests\nerror: test failed, to rerun pass `--lib`\n", "error"),
        (
            "cargo test",
            "running 2 tests\n   Doc-tests d\nrunning 0 tests\n" + RESULT.format("ok", 0, 0, 0),
            "error",
        ),
        ("cargo test", "error[E0425]: cannot find value\nerror: could not compile `d`\n", "error"),
        ("cargo test -q | tail -3", RESULT.format("ok", 0, 0, 0) + "\n\n", "unknown"),
        (
            "cargo test -- --nocapture",
            "running 1 test\ntest result: FAILED. 0 passed; 3 failed\ntest a ... ok\n"
            + RESULT.format("ok", 1, 0, 0),
            "passed, 1 passed, 0 failed, 0 skipped",
        ),
        (
            "cargo nextest run",
            "     Summary [   0.03s] 3 tests run: 2 passed, 1 failed, 0 skipped\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        (
            "cargo nextest run",
            "     Summary [   0.03s] 2 tests run: 2 passed (1 flaky), 0 skipped\n",
            "passed, 2 passed, 0 skipped",
        ),
        (
            "cargo nextest run",
            "     Summary [   0.0s] 1 test run: 0 passed, 1 timed out, 0 skipped\n",
            "failed, 0 passed, 1 failed, 0 skipped",
        ),
        ("cargo nextest run zzz", "error: no tests to run\n", "no_tests"),
        ("ctest", "100% tests passed, 0 tests failed out of 2\n", "passed, 0 failed"),
        ("ctest", "50% tests passed, 1 tests failed out of 2\n", "failed, 1 failed"),
        ("ctest -R zzz", "No tests were found!!!\n", "no_tests"),
        (
            "./unit_tests",
            "[==========] 2 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 2 tests.\n",
            "passed, 2 passed",
        ),
        (
            "./unit_tests",
            "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n",
            "failed, 1 passed, 1 failed",
        ),
        (
            "./unit_tests",
            "[  PASSED  ] 0 tests.\n[  SKIPPED ] 2 tests, listed below:\n",
            "no_tests, 0 passed, 2 skipped",
        ),
        ("./unit_tests | grep PASSED", "[  PASSED  ] 1 test.\n", "unknown"),
        ("./unit_tests", "[==========] Running 2 tests from 1 test suite.\n[ RUN      ] A.B\n", "error"),
        ("./unit_tests", "All tests passed (4 assertions in 2 test cases)\n", "passed, 2 passed"),
        (
            "./unit_tests",
            "test cases: 2 | 1 passed | 1 failed\nassertions: 3 | 2 passed | 1 failed\n",
            "failed, 1 passed, 1 failed",
        ),
        (
            "./unit_tests",
            "[doctest] test cases: 2 | 2 passed | 0 failed | 0 skipped\n",
            "passed, 2 passed, 0 failed, 0 skipped",
        ),
        ("./unit_tests", "50%: Checks: 2, Failures: 1, Errors: 0\n", "failed, 1 failed, 0 errors"),
        (
            "./unit_tests",
            "[  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n",
            "failed, 1 passed, 1 failed",
        ),
        (
            "meson test",
            "Ok:                 2\nExpected Fail:      0\nFail:               1\nTimeout:            0\n",
            "failed, 2 passed, 1 failed",
        ),
        (
            "bazel test //...",
            "Executed 2 out of 2 tests: 1 test passes and 1 fails locally.\n",
            "failed, 1 passed, 1 failed",
        ),
        (
            "dotnet test",
            "Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6\n",
            "passed, 5 passed, 0 failed, 1 skipped",
        ),
        (
            "dotnet test",
            "Failed!  - Failed:     1, Passed:     5, Skipped:     1, Total:     7\n",
            "failed, 5 passed, 1 failed, 1 skipped",
        ),
        (
            "dotnet test",
            "Test Run Failed.\nTotal tests: 5\n     Passed: 4\n     Failed: 1\n",
            "failed, 4 passed, 1 failed",
        ),
        (
            "dotnet test",
            "Test summary: total: 2, failed: 0, succeeded: 2, skipped: 0, duration: 1s\n",
            "passed, 2 passed, 0 failed, 0 skipped",
        ),
        ("dotnet test", "/src/A.cs(4,2): error CS1002: ; expected [/src/A.csproj]\nBuild FAILED.\n", "error"),
        (
            "swift test",
            "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n",
            "failed, 1 failed",
        ),
        (
            "swift test",
            (
                "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds\n"
                "Test run with 2 tests in 1 suite failed after 0.1 seconds with 1 issue.\n"
            ),
            "failed, 0 failed",
        ),
        (
            "mvn test",
            "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
            "passed, 0 failed, 0 errors, 0 skipped",
        ),
        (
            "mvn test",
            "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE\n",
            "failed, 1 failed, 0 errors, 0 skipped",
        ),
        (
            "mvn test",
            "[ERROR] Tests run: 2, Failures: 0, Errors: 1, Skipped: 0\n",
            "error, 0 failed, 1 errors, 0 skipped",
        ),
        ("mvn test", "[ERROR] COMPILATION ERROR : \n[INFO] BUILD FAILURE\n", "error"),
        ("mvn test", "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", "no_tests"),
        (
            "mvn test -Dmaven.test.failure.ignore=true | tail -2",
            "[INFO] BUILD SUCCESS\n[INFO] ----\n",
            "unknown",
        ),
        ("./gradlew test", "> Task :test\n\nBUILD SUCCESSFUL in 5s\n", "passed"),
        ("./gradlew test", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 5s\n", "no_tests"),
        (
            "./gradlew test",
            "3 tests completed, 1 failed\n> There were failing tests. See the report\nBUILD FAILED in 5s\n",
            "failed, 1 failed",
        ),
        (
            "java -jar junit-platform-console-standalone.jar",
            (
                "[         3 tests found           ]\n"
                "[         2 tests successful      ]\n[         1 tests failed          ]\n"
            ),
            "failed, 2 passed, 1 failed",
        ),
        ("java org.junit.runner.JUnitCore A", "OK (2 tests)\n", "passed, 2 passed"),
        (
            "sbt test",
            "[info] Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
    ],
)
def test_what_runners_of_compiled_languages_close_with(command: str, output: str, said: str) -> None:
    assert in_words(runner_verdict(command, None, output)) == said


@pytest.mark.parametrize(
    "command",
    [
        "go test -c .",
        "go vet ./...",
        "cargo test --no-run",
        "cargo build",
        "cargo nextest list",
        "ctest -N",
        "./unit_tests --gtest_list_tests",
        "mvn test-compile",
        "mvn verify -DskipTests",
        "./gradlew assemble",
        "./gradlew build -x test",
        "dotnet build",
        "dotnet test --list-tests",
        "g++ t.cpp",
    ],
)
def test_calls_that_run_no_test_are_no_test_run(command: str) -> None:
    assert runner_verdict(command, 0, "done\n").verdict == "not_a_test_run"
