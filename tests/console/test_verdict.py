import json

import pytest
from click.testing import CliRunner, Result

from tokeneconomizer.console.commands.verdict import command
from tokeneconomizer.domain.errors import TokeneconomizerError

RECORD = {
    "id": "a",
    "command": "pytest | tail -1",
    "shell_exit_code": 0,
    "output": "\x1b[31m1 failed\x1b[0m, 2 passed in 0.1s\n",
}


def run(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, input=text)


def test_each_call_gets_its_verdict_with_the_printed_numbers() -> None:
    second = {"id": 2, "command": "ls", "shell_exit_code": None, "output": ""}
    done = run(json.dumps(RECORD) + "\n\n" + json.dumps(second) + "\n")
    assert done.exit_code == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {
            "id": "a",
            "ran_tests": True,
            "verdict": "failed",
            "framework": "pytest",
            "passed": 2,
            "failed": 1,
            "errors": None,
            "skipped": None,
        },
        {
            "id": 2,
            "ran_tests": False,
            "verdict": "not_a_test_run",
            "framework": None,
            "passed": None,
            "failed": None,
            "errors": None,
            "skipped": None,
        },
    ]


def test_explain_names_the_rule_and_the_line_that_decided() -> None:
    said = json.loads(run(json.dumps(RECORD), "--explain").stdout)
    assert said["rule"] == "pytest: summary line"
    assert (said["line"], said["line_text"]) == (1, "1 failed, 2 passed in 0.1s")
    assert said["rules_version"] >= 1


def test_explain_says_that_no_line_decided() -> None:
    said = json.loads(run(json.dumps(RECORD | {"output": ""}), "--explain").stdout)
    assert (said["verdict"], said["line"], said["line_text"]) == ("unknown", None, None)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("no json", "line 2"),
        ("[1]", "line 2"),
        (json.dumps(RECORD | {"output": 3}), "`output`"),
        (json.dumps(RECORD | {"shell_exit_code": "1"}), "`shell_exit_code`"),
        (json.dumps(RECORD | {"shell_exit_code": True}), "`shell_exit_code`"),
    ],
)
def test_a_line_that_is_no_record_is_named(line: str, word: str) -> None:
    done = run(json.dumps(RECORD) + "\n" + line + "\n")
    assert isinstance(done.exception, TokeneconomizerError)
    assert word in str(done.exception)
