import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tokeneconomizer.domain.verdicts.shell import Invocation, read_command


def run_of(command: str, program: str = "pytest") -> Invocation:
    return next(run for run in read_command(command).invocations if run.program == program)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "cd a; pytest > log 2>&1",
        "cd a && pytest",
        "( pytest )",
        "{ cd a; pytest; }",
        "bash -c 'cd a; pytest'",
        "timeout 60 pytest",
        "set -o pipefail; pytest 2>&1 | tail -5",
        "set -euo pipefail\npytest | tee log",
        "bash -o pipefail -c 'pytest | tail'",
        "pytest; exit $?",
        "pytest > log; rc=$?; tail log; exit $rc",
        "pytest | tail; exit ${PIPESTATUS[0]}",
        "x=$(pytest)",
        "f() { pytest; }; f",
        "script -qec 'pytest' /dev/null",
        "cat a | pytest",
    ],
)
def test_the_exit_code_is_the_programs_own(command: str) -> None:
    run = run_of(command)
    assert (run.status_decides, run.needed_for_success) == (True, True)


@pytest.mark.parametrize(
    "command",
    [
        "pytest | tail",
        "pytest || true",
        "pytest; echo $?",
        "pytest\ntrue",
        "pytest &",
        "! pytest",
        "! pytest | cat",
        "if pytest; then a; fi",
        "if a; then pytest; fi",
        "while a; do pytest; done",
        "for i in 1 2; do pytest; done",
        "case $a in b) pytest;; esac",
        "echo $(pytest)",
        "export A=$(pytest)",
        "a <(pytest)",
        "pytest; exit 0",
        "pytest & wait; exit $?",
        "a && pytest; b",
        "a || pytest",
        "script -qc 'pytest' /dev/null",
        "find . -exec pytest {} +",
        "set -o pipefail; set +o pipefail; pytest | tail",
        "set -e; a $(b || pytest)",
    ],
)
def test_the_exit_code_says_nothing_of_the_program(command: str) -> None:
    run = run_of(command)
    assert (run.status_decides, run.needed_for_success) == (False, False)


@pytest.mark.parametrize(
    "command",
    [
        "pytest && a",
        "pytest && a && b",
        "set -e; pytest; a",
        "pytest || exit 1; a",
        "cd a && pytest || exit 2\nb",
        "set -o pipefail; pytest | grep x",
        "set -eo pipefail; pytest | tail; a",
    ],
)
def test_code_0_alone_proves_that_the_program_did_well(command: str) -> None:
    run = run_of(command)
    assert (run.status_decides, run.needed_for_success) == (False, True)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a; pytest", False),
        ("a & pytest", False),
        ("if pytest; then a; fi", False),
        ("pytest && a", False),
        ("a && pytest", True),
        ("a || pytest", True),
        ("a && b | pytest", True),
        ("if a; then pytest; fi", True),
        ("if a; then b; elif pytest; then c; fi", True),
        ("while a; do pytest; done", True),
        ("for i in 1 2; do pytest; done", False),
        ("for i in $x; do pytest; done", True),
        ("case a in b) pytest;; esac", True),
        ("set -e; a; pytest", True),
        ("a || exit; pytest", True),
        ("(exit 1); pytest", False),
    ],
)
def test_knows_what_may_not_have_run(command: str, expected: bool) -> None:
    assert run_of(command).guarded is expected


BASH = shutil.which("bash") or ""

# Small commands of every kind, whose programs are p1 to p6.
PROGRAM = st.sampled_from([f"p{number}" for number in range(1, 7)])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from([" && ", " || ", "; ", " | ", "\n"]), inner).map("".join),
        inner.map(lambda text: f"( {text} )"),
        inner.map(lambda text: f"{{ {text}; }}"),
        two.map(lambda texts: f"if {texts[0]}; then {texts[1]}; fi"),
        inner.map(lambda text: f"for i in 1; do {text}; done"),
        inner.map(lambda text: f"x=$( {text} )"),
        PROGRAM.map(lambda text: f"! {text}"),
        PROGRAM.map(lambda text: f"{text} | cat"),
        PROGRAM.map(lambda text: f"bash -c '{text}'"),
    )


COMMAND = st.tuples(
    st.sampled_from(["", "", "set -e; ", "set -o pipefail; ", "set -eo pipefail\n"]),
    st.recursive(PROGRAM, compound, max_leaves=6),
    st.sampled_from(["", "", "", " || exit 1; p1", "; exit $?", "; rc=$?; true; exit $rc"]),
).map("".join)


@pytest.mark.skipif(not BASH, reason="compares with the shell itself")
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=COMMAND, codes=st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_says_what_bash_does(tmp_path: Path, command: str, codes: list[int]) -> None:
    log = tmp_path / "log"
    log.write_text("")
    programs = tmp_path / "programs"
    programs.write_text(
        "".join(
            f"p{n}() {{ echo p{n} {code} >> {log}; return {code}; }}\n" for n, code in enumerate(codes, 1)
        ),
    )
    environment = {**os.environ, "BASH_ENV": str(programs)}
    done = subprocess.run([BASH, "-c", command], env=environment, capture_output=True, check=False)
    # `a | ! b` is none; bash does not run a word of it.
    assume(b"syntax error" not in done.stderr)
    code = done.returncode
    ended = dict(line.split() for line in log.read_text().splitlines())
    reading = read_command(command)
    for run in reading.invocations:
        # A program that stands twice in the command leaves open which of the two runs is meant.
        if [other.program for other in reading.invocations].count(run.program) > 1 or run.program[0] != "p":
            continue
        if not run.guarded and reading.parsed:
            assert run.program in ended
        if run.needed_for_success and code == 0:
            assert ended[run.program] == "0"
        if run.status_decides and run.program in ended and not (run.guarded and code):
            assert ended[run.program] == str(code)
    assert set(ended) <= {run.program for run in reading.invocations}
