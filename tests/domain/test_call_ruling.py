"""What a call says of the tests, and which files it wrote; a turn's end rests on both (S4.1, S5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sessions import Telling, edit, shell

from tokeneconomizer.domain.call_ruling import FILES_WRITTEN_MAX, rule_on
from tokeneconomizer.domain.digests import CallKind

GREEN = "...\n----\nRan 3 tests in 0.01s\n\nOK\n"
RED = "..F\n----\nRan 3 tests in 0.01s\n\nFAILED (failures=1)\n"
TESTS = "python -m unittest"


@pytest.mark.parametrize(
    ("command", "output", "failed", "verdict"),
    [
        (TESTS, GREEN, False, "passed"),
        (TESTS, RED, True, "failed"),
        (f"{TESTS} | tail -3", RED, False, "failed"),
        ("cat old.log", GREEN, False, "not_a_test_run"),
        ("ls", "a.py", False, "not_a_test_run"),
    ],
)
def test_a_shell_call_gets_the_verdict_of_its_runner(
    command: str, output: str, failed: bool, verdict: str
) -> None:
    ruling = rule_on(shell(command, output, failed=failed))

    assert ruling.verdict == verdict
    assert ruling.version > 0


@pytest.mark.parametrize("change", [{"background": True}, {"interrupted": True}, {"kind": CallKind.OTHER}])
def test_no_verdict_is_made_without_the_whole_output_of_a_shell(change: dict[str, object]) -> None:
    assert rule_on(replace(shell(TESTS, GREEN), **change)).verdict is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("sed -i s/a/b/ src/price.py", ("price.py",)),
        ("echo x > src/a.py && tee b.py < c", ("a.py", "b.py")),
        (f"{TESTS} > run.log 2>&1", ()),
        (f"{TESTS} > /tmp/out.txt; tail /tmp/out.txt", ()),
        ("ls > /dev/null", ()),
        ("git status", ()),
        ("echo x | tee 'what a quoted text says.py'", ("?",)),
    ],
)
def test_a_shell_call_writes_the_files_of_the_project_that_its_command_names(
    command: str, written: tuple[str, ...]
) -> None:
    assert rule_on(shell(command)).written == written


def test_an_edit_writes_its_file_when_it_was_applied() -> None:
    assert rule_on(edit("/home/dev/project/a.py", "x")).written == ("a.py",)
    assert rule_on(edit("a.py", "x", error="<tool_use_error>no match")).written == ()


def test_a_command_that_names_many_files_is_cut_short() -> None:
    command = "touch " + " ".join(f"f{n}.py" for n in range(FILES_WRITTEN_MAX + 5))
    written = rule_on(shell(command)).written

    assert len(written) in {0, FILES_WRITTEN_MAX + 1}
    assert not written or written[-1] == "?"


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ([shell(TESTS, GREEN)], "green"),
        ([shell(TESTS, RED, failed=True)], "red"),
        ([shell(TESTS, RED, failed=True), edit("a.py", "x"), shell(TESTS, GREEN)], "green"),
        ([shell(TESTS, GREEN), edit("a.py", "x")], "unverified"),
        ([shell(TESTS, GREEN), shell("sed -i s/a/b/ a.py")], "unverified"),
        ([shell(TESTS, GREEN), shell("ls", "a.py")], "green"),
        ([shell("ls", "a.py")], "unverified"),
    ],
)
def test_a_turn_ends_as_the_last_test_run_after_its_last_edit_says(steps: list[object], outcome: str) -> None:
    telling = Telling()
    telling.prompt()
    for call in steps:
        telling.step(call)  # type: ignore[arg-type]
    telling.stop()

    assert telling.of("turn_ended")[0].outcome == outcome  # S4.1


@given(st.text(max_size=80), st.text(max_size=200))
def test_any_command_and_output_can_be_ruled_on(command: str, output: str) -> None:
    ruling = rule_on(shell(command, output))

    assert all(name and "/" not in name for name in ruling.written)
