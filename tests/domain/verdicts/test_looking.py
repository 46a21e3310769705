from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.verdicts.calls import Role, calls_of
from tokeneconomizer.domain.verdicts.looking import COMMAND_CHARACTERS_MAX, only_looks
from tokeneconomizer.domain.verdicts.shell import read_command

PIECES = (
    *("ls -la src", "cat a.py", "grep -n 'total|sum' src/*.py", 'rg "a\\|b" .', "sed -n '1,40p' a.py", "pwd"),
    *(
        "find . -name '*.py'",
        "find . -exec pytest +",
        "find . '-exec' pytest",
        "sed -n -i s/a/b/ f",
        "sed -n '-i' p f",
    ),
    *(
        "git status --short",
        "git -C sub log -3",
        "git checkout a.py",
        "gh pr view 7",
        "echo 'pytest'",
        "cd src",
    ),
    *("pytest -q", "make test", "./run.sh", "tee a.py", "rm a.py", "X=1 ls", "$RUN", "`pytest`", "ls > a.py"),
    *(
        "cat <<E",
        "(ls)",
        "ls 2>/dev/null",
        "ls 2>&1",
        "ls 2>errors.txt",
        "wc -l a",
        "time ls",
        "bash -c 'pytest'",
    ),
)
JOINTS = (" && ", "; ", " | ", " || ", "\n", "|", " & ", ";;", " \\\n", " ")


@pytest.mark.parametrize(
    "command",
    [
        "cd src && grep -n total a.py | head -50",
        "ls -la\ncat pyproject.toml 2>/dev/null; git diff --stat",
        "  find . -name '*.py' | wc -l ",
        'git commit -m "say what tests prove"',
        'gh pr checks 90 2>&1 | tail -20; echo "---"',
    ],
)
def test_searching_reading_and_asking_git_only_look(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "pytest -q",
        "ls && pytest",
        "ls > files.txt",
        "sed -i s/a/b/ a.py",
        "sed -n -i s/a/b/ a.py",
        "find . -name '*_test' -exec {} +",
        'echo "$(pytest)"',
        "cat `which pytest`",
        "git checkout -- a.py",
        "grep x a.py &",
        "cat a.py | tee b.py",
        "ls " + "x" * COMMAND_CHARACTERS_MAX,
    ],
)
def test_whatever_runs_writes_or_is_not_certain_is_left_to_the_grammar(command: str) -> None:
    assert not only_looks(command)


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(JOINTS)), min_size=1, max_size=5))
def test_what_only_looks_has_no_run_and_writes_nothing_by_the_grammar_either(
    parts: list[tuple[str, str]],
) -> None:
    command = "".join(piece + joint for piece, joint in parts).strip()
    if not only_looks(command):
        return
    reading = read_command(command)
    assert reading.edits == ()
    assert {call.role for call in calls_of(reading)} <= {Role.READER, Role.OTHER}


@given(st.text(alphabet="ls cat'\"\\$`;|&\n-(){}<>2/a", max_size=60))
def test_no_text_of_signs_is_taken_for_what_it_is_not(text: str) -> None:
    if only_looks(text):
        assert read_command(text).edits == ()
