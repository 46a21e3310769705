import pytest
from verdict_words import in_words

from tokeneconomizer.domain.verdicts import runner_verdict


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("rspec", "3 examples, 1 failure, 1 pending\n", "failed, 1 failed, 1 skipped"),
        ("rspec", "2 examples, 0 failures\n", "passed, 0 failed"),
        ("rspec", "2 examples, 0 failures, 2 pending\n", "no_tests, 0 failed, 2 skipped"),
        (
            "bundle exec rspec",
            "0 examples, 0 failures, 1 error occurred outside of examples\n",
            "error, 0 failed, 1 errors",
        ),
        ("rspec -f j", '{"summary":{},"summary_line":"2 examples, 1 failure"}', "failed, 1 failed"),
        ("rspec | tail -1", "rspec ./spec/a_spec.rb:2 # calc adds\n", "failed"),
        ("rspec -f d", "5 examples, 4 failures\n\n2 examples, 0 failures\n", "passed, 0 failed"),
        (
            "ruby test/a_test.rb",
            "2 runs, 3 assertions, 1 failures, 0 errors, 0 skips\n",
            "failed, 1 failed, 0 errors, 0 skipped",
        ),
        (
            "rake test",
            "2 runs, 3 assertions, 0 failures, 1 errors, 1 skips\n",
            "error, 0 failed, 1 errors, 1 skipped",
        ),
        (
            "rails test",
            "2 runs, 0 assertions, 0 failures, 0 errors, 2 skips\n",
            "no_tests, 0 failed, 0 errors, 2 skipped",
        ),
        (
            "ruby test/a_test.rb",
            "2 tests, 2 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n",
            "passed, 0 failed, 0 errors, 0 skipped",
        ),
        ("ruby test/a_test.rb", "50% passed\n-----\n200 tests/s, 200 assertions/s\n", "failed"),
        (
            "ruby test/a_test.rb || true",
            "a:1:in `require': cannot load such file -- b (LoadError)\n",
            "error",
        ),
        ("phpunit", "OK (2 tests, 3 assertions)\n", "passed, 2 passed"),
        (
            "vendor/bin/phpunit",
            "FAILURES!\nTests: 3, Assertions: 3, Failures: 1, Errors: 1.\n",
            "failed, 1 failed, 1 errors",
        ),
        ("phpunit", "ERRORS!\nTests: 2, Assertions: 1, Errors: 1.\n", "error, 1 errors"),
        (
            "phpunit",
            "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Risky: 1.\n",
            "passed",
        ),
        (
            "phpunit",
            "OK, but some tests were skipped!\nTests: 2, Assertions: 0, Skipped: 2.\n",
            "no_tests, 2 skipped",
        ),
        ("phpunit", "No tests executed!\n", "no_tests"),
        (
            "vendor/bin/pest",
            "  Tests:    1 failed, 2 passed (3 assertions)\n  Duration: 0.1s\n",
            "failed, 2 passed, 1 failed",
        ),
        ("php artisan test", "  Tests:    2 passed (3 assertions)\n", "passed, 2 passed"),
        ("mix test", "2 tests, 1 failure, 1 skipped\n", "failed, 1 failed, 1 skipped"),
        ("mix test", "1 doctest, 2 tests, 0 failures\n", "passed, 0 failed"),
        ("mix test --only x", "2 tests, 0 failures, 2 excluded\n", "no_tests, 0 failed"),
        ("mix test", "== Compilation error in file test/a_test.exs ==\n", "error"),
        (
            "prove t",
            "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=4,  0 wallclock secs\nResult: PASS\n",
            "passed, 4 passed",
        ),
        (
            "prove -v t",
            "not ok 1 - a # TODO later\nFiles=1, Tests=1,  0 wallclock secs\nResult: PASS\n",
            "passed, 1 passed",
        ),
        ("prove t", "Files=1, Tests=2,  0 wallclock secs\nResult: FAIL\n", "failed"),
        (
            "prove t",
            "  Parse errors: No plan found in TAP output\nFiles=1, Tests=0,  0 w\nResult: FAIL\n",
            "error",
        ),
        ("prove t", "t/a.t .. skipped: x\nFiles=1, Tests=0,  0 w\nResult: NOTESTS\n", "no_tests"),
        ("perl t/a.t", "1..2\nok 1\nok 2\n", "passed"),
        ("perl t/a.t", "1..3\nok 1\n# Looks like you planned 3 tests but ran 1.\n", "failed"),
        ("perl t/a.t", "ok 1\n1..1\n# Looks like your test exited with 3 just after 1.\n", "error"),
        ("bats t.bats", "1..2\nok 1 a\nok 2 prints not ok\n", "passed"),
        ("bats t.bats", "1..1\nnot ok 1 setup_file failed\n", "error"),
        ("bats t.bats", "1..2\nok 1 a # skip x\nok 2 b # skip\n", "no_tests"),
        ("bats t.bats", "1..0\n", "no_tests"),
        ("bats --pretty t.bats", " ✗ a\n\n3 tests, 1 failure, 1 skipped\n", "failed, 1 failed, 1 skipped"),
        ("bats t.bats | head -2", "1..5\nok 1 a\n", "unknown"),
        (
            "busted",
            "+-\n1 success / 1 failure / 0 errors / 0 pending : 0.1 seconds\n",
            "failed, 1 passed, 1 failed, 0 errors, 0 skipped",
        ),
        ("sh run_tests.sh", "Ran 2 tests.\n\nFAILED (failures=1)\n", "failed, 1 failed"),
        (
            "pwsh -c Invoke-Pester",
            "Tests Passed: 2, Failed: 1, Skipped: 0 NotRun: 0\n",
            "failed, 2 passed, 1 failed, 0 skipped",
        ),
        ("flutter test", "00:01 +1: a\n00:02 +1 -1: Some tests failed.\n", "failed, 1 passed, 1 failed"),
    ],
)
def test_what_runners_of_scripting_languages_close_with(command: str, output: str, said: str) -> None:
    assert in_words(runner_verdict(command, None, output)) == said


@pytest.mark.parametrize(
    "command", ["rspec --dry-run", "phpunit --list-tests", "mix compile", "prove --version"]
)
def test_calls_that_run_no_test_are_no_test_run(command: str) -> None:
    assert runner_verdict(command, 0, "2 examples, 0 failures\n").verdict == "not_a_test_run"
