import pytest
from verdict_words import in_words

from tokeneconomizer.domain.verdicts import runner_verdict

RULE = "-" * 70


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("pytest", "==== 4 passed in 0.10s ====", "passed, 4 passed"),
        ("pytest -q", "4 passed, 2 skipped in 0.10s", "passed, 4 passed, 2 skipped"),
        ("python3.12 -m pytest", "= 1 failed, 3 passed in 61.20s (0:01:01) =", "failed, 3 passed, 1 failed"),
        ("pytest", "=== 2 passed, 1 error in 0.3s ===", "error, 2 passed, 1 errors"),
        ("pytest", "=== 1 failed, 1 error in 0.3s ===", "failed, 1 failed, 1 errors"),
        ("pytest", "=== 2 skipped in 0.3s ===", "no_tests, 2 skipped"),
        ("pytest", "=== 2 xfailed in 0.3s ===", "passed"),
        ("pytest -k zzz", "7 deselected in 0.01s", "no_tests"),
        ("pytest", "=== no tests ran in 0.01s ===", "no_tests"),
        ("pytest nope.py", "ERROR: file or directory not found: nope.py\n\nno tests ran in 0.0s", "error"),
        (
            "pytest",
            "!!!!! Interrupted: 1 error during collection !!!!!\n=== 1 error in 0.2s ===",
            "error, 1 errors",
        ),
        ("pytest", "!!!!! KeyboardInterrupt !!!!!\n=== 3 passed in 2.2s ===", "error, 3 passed"),
        ("pytest -x", "!!!!! stopping after 1 failures !!!!!\n=== 1 failed in 2.2s ===", "failed, 1 failed"),
        ("pytest", "INTERNALERROR> boom\n=== no tests ran in 0.2s ===", "error"),
        (
            "pytest --cov",
            "FAIL Required test coverage of 90% not reached.\n3 passed in 0.2s",
            "failed, 3 passed",
        ),
        (
            "pytest",
            "Results (0.20s):\n       3 passed\n       1 failed\n         - t.py:4 test_x\n",
            "failed, 3 passed, 1 failed",
        ),
        ("pytest -n 4", "bringing up nodes...\n......\n6 passed in 1.0s", "passed, 6 passed"),
        ("pytest", "2 failed, 2 subtests passed in 0.1s", "failed, 2 failed"),
        ("pytest", "FAILED tests/test_a.py::test_x - assert 0", "failed"),
        ("pytest -qq", "...F..   [100%]", "failed"),
        ("pytest -qq", "......   [100%]", "passed"),
        ("pytest", "Fatal Python error: Segmentation fault\n", "error"),
        (
            "pytest --nope",
            "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --nope",
            "error",
        ),
        ("python -m unittest", f"..\n{RULE}\nRan 2 tests in 0.1s\n\nOK", "passed, 2 passed"),
        (
            "python -m unittest",
            f"{RULE}\nRan 3 tests in 0.1s\n\nOK (skipped=1)",
            "passed, 2 passed, 1 skipped",
        ),
        (
            "python -m unittest",
            f"{RULE}\nRan 2 tests in 0.1s\n\nFAILED (failures=1, errors=1)",
            "failed, 1 failed, 1 errors",
        ),
        ("python -m unittest", f"{RULE}\nRan 2 tests in 0.1s\n\nFAILED (errors=1)", "error, 1 errors"),
        ("python -m unittest", f"{RULE}\nRan 1 test in 0.1s\n\nFAILED (unexpected successes=1)", "failed"),
        ("python -m unittest", f"{RULE}\nRan 0 tests in 0.0s\n\nOK", "no_tests, 0 passed"),
        ("python -m unittest", f"{RULE}\nRan 0 tests in 0.0s\n\nNO TESTS RAN", "no_tests, 0 passed"),
        ("python -m unittest | tail -1", "FAILED (failures=1)", "failed, 1 failed"),
        ("python -m unittest | tail -1", "OK", "unknown"),
        (
            "python manage.py test",
            f"F\n{RULE}\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\nDestroying test database",
            "failed, 1 failed",
        ),
        ("green", "..\n\nRan 2 tests in 0.3s using 2 processes\n\nOK (passes=2)", "passed, 2 passed"),
        ("trial pkg", f"{RULE}\nRan 3 tests in 0.01s\n\nPASSED (successes=3)", "passed, 3 passed"),
        (
            "stestr run",
            " - Passed: 2\n - Skipped: 0\n - Expected Fail: 0\n - Unexpected Success: 0\n - Failed: 1\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        ("python -m doctest m.py", "***Test Failed*** 2 failures.", "failed, 2 failed"),
        ("python -m doctest -v m.py", "3 passed and 0 failed.\nTest passed.", "passed, 3 passed, 0 failed"),
        (
            "behave",
            "1 feature passed, 1 failed, 0 skipped\n2 scenarios passed, 1 failed, 0 skipped\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        (
            "behave",
            "HOOK-ERROR in before_all: ValueError\n0 scenarios passed, 0 failed, 0 skipped, 1 untested",
            "error",
        ),
        ("robot t.robot", "2 tests, 1 passed, 1 failed\n====\n", "failed, 1 passed, 1 failed"),
        ("robot t.robot", "[ ERROR ] Suite 'T' contains no tests.", "no_tests"),
        (
            "tox",
            "py: commands[0]> pytest\n1 failed, 1 passed in 0.1s\n  py: FAIL code 1\n  evaluation failed :(",
            "failed, 1 passed, 1 failed",
        ),
        ("tox", "2 passed in 0.1s\n  lint: FAIL code 1\n  evaluation failed :(", "failed, 2 passed"),
        (
            "nox",
            "nox > Running session tests\n2 passed in 0.1s\nnox > Session tests was successful.",
            "passed, 2 passed",
        ),
    ],
)
def test_what_runners_of_python_close_with(command: str, output: str, said: str) -> None:
    assert in_words(runner_verdict(command, None, output)) == said


@pytest.mark.parametrize(
    "output",
    [
        "tests/test_a.py::test_banner[2 failed] PASSED [ 50%]\n=== 2 passed in 0.1s ===",
        "UserWarning: this FAILED earlier: 2 errors\n=== 2 passed, 1 warning in 0.1s ===",
        ".....3 failed, 1 passed in 0.20s\n.\n6 passed in 0.05s",
        "3 failed, 1 passed in 0.20s\n6 passed in 0.05s",
    ],
)
def test_words_of_failure_in_names_and_prints_do_not_mislead(output: str) -> None:
    assert runner_verdict("pytest -s", None, output).verdict == "passed"


def test_a_green_line_printed_after_a_red_run_does_not_hide_it() -> None:
    output = (
        "F [100%]\n=== FAILURES ===\nFAILED t.py::test_a - assert 0\n1 failed in 0.1s\n3 passed in 0.1s\n"
    )
    assert runner_verdict("pytest -q || true", 0, output).verdict == "failed"


def test_a_summary_that_a_unittest_prints_itself_does_not_count() -> None:
    printed = f"{RULE}\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\nRan 40 tests in 0.1s\n\nOK\n"
    assert runner_verdict("python -m unittest || true", 0, printed).verdict == "failed"
    printed = f"{RULE}\nRan 2 tests in 0.1s\n\nOK\nFAILED (failures=2)\n"
    assert runner_verdict("python -m unittest || true", 0, printed).verdict == "passed"


@pytest.mark.parametrize(
    "command",
    [
        "pytest --collect-only -q",
        "pytest --version",
        "python -m pytest --fixtures",
        "tox -l",
        "python -m compileall tests",
        "pip install pytest",
        "ruff check tests",
    ],
)
def test_calls_that_run_no_test_are_no_test_run(command: str) -> None:
    assert runner_verdict(command, 0, "=== 3 passed in 0.1s ===").verdict == "not_a_test_run"
