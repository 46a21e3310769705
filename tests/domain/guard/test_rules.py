"""What counts as a circle, rule by rule, and what excuses it (S4.2, S4.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sessions import Telling, edit, look, redirects_after, shell

from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.guard.limits import (
    CYCLE_ROUNDS,
    FAILED_REPEATS,
    FAILED_REPEATS_WITH_EDITS,
    POLL_REPEATS,
    REFUSED_EDITS,
    SAME_READ_REPEATS,
    SIGNATURE_REPEATS,
    Limits,
)
from tokeneconomizer.domain.guard.rules import RULES
from tokeneconomizer.domain.handle import Rules

NOT_FOUND = "<tool_use_error>String to replace not found in file.</tool_use_error>"


def fails(command: str, output: str = "ValueError: boom", exit_code: int = 1) -> Call:
    return replace(shell(command, output, failed=True), exit_code=exit_code)


def read(path: str, text: str, **arguments: object) -> Call:
    return look("Read", {"file_path": path, **arguments}, text)


def said(telling: Telling) -> list[tuple[str, int]]:
    return [(event.rule, event.call_number) for event in telling.of("redirected")]


def told(*steps: Call | list[Call], limits: Limits | None = None) -> list[tuple[str, int]]:
    """Tell the steps in a turn of their own; return which rule spoke at which call."""
    telling = Telling(rules=Rules(limits=limits or Limits()))
    redirects_after(telling, *[step if isinstance(step, list) else [step] for step in steps])
    return said(telling)


def edits(*contents: str, path: str = "src/a.py") -> list[Call]:
    return [edit(path, content) for content in contents]


FAILING, PASSING = (
    fails("python -m pytest -q", "1 failed in 0.2s\nE ValueError"),
    shell("pytest -q", "2 passed in 1s"),
)
MISSING = fails("javac A.java", "bash: line 7: javac: command not found", 127)

STUCK: dict[str, tuple[tuple[str, int], list[Call | list[Call]]]] = {
    "one call that fails": (("same_call", 3), [fails("make")] * 3),
    "one call that fails, with reads between": (
        ("same_call", 5),
        [fails("make"), read("a", "1"), fails("make"), read("b", "2"), fails("make")],
    ),
    "one call that fails, with edits between": (
        ("same_call", 7),
        [fails("make"), *edits("1"), fails("make"), *edits("2"), fails("make"), *edits("3"), fails("make")],
    ),
    "a program that is not there, whatever is edited": (
        ("same_call", 5),
        [MISSING, *edits("1"), MISSING, *edits("2"), MISSING],
    ),
    "tests that fail behind a pipe, told by their output": (
        ("same_call", 3),
        [shell("pytest -q 2>&1 | tail -3", "E ValueError\n1 failed in 0.2s")] * 3,
    ),
    "tests that fail behind a pipe in the same way, with edits and other output between": (
        ("same_call", 7),
        [
            step
            for n, noise in enumerate("abcd")
            for step in (
                shell("pytest -q 2>&1 | tail -9", f"warm-up {noise}\nE   ValueError: boom\n1 failed in 0.2s"),
                *edits(f"{n}"),
            )
        ],
    ),
    "one call that tells the same": (("same_call", 4), [shell("npm ls", "a 1.0")] * 4),
    "one content that is written again": (("same_call", 4), [edit("a.py", "x = 1")] * 4),
    "one content that is written again before each failing run": (
        ("cycle", 5),
        [step for _ in range(3) for step in (edit("a.py", "x = 1"), fails("python a.py"))],
    ),
    "a file that is read again": (("same_read", 4), [read("a.py", "x = 1")] * 4),
    "differing calls that fail in the same way, and nothing else works": (
        ("same_failure", 3),
        [fails(f"deploy {word}", "Error: permission denied") for word in ("now", "here", "again")],
    ),
    "differing calls that fail in the same way, others between": (
        ("same_failure", 5),
        [
            fails("deploy now", "Error: permission denied"),
            shell("ls", "a"),
            *[fails(f"deploy {word}", "Error: permission denied") for word in ("here", "again", "please")],
        ],
    ),
    "an edit of one file that is refused": (
        ("edit_refused", 5),
        [
            edit("src/a.py", "1", error=NOT_FOUND),
            read("src/a.py", "x"),
            edit("src/a.py", "2", error=NOT_FOUND),
            read("src/a.py", "x", offset=3),
            edit("src/a.py", "3", error=NOT_FOUND),
        ],
    ),
    "a refused edit that is sent again word for word": (
        ("edit_refused", 3),
        [
            edit("", "1", error="That is a syntax error:\n- E999"),
            edit("", "2", error="That is a syntax error:\n- F821"),
            edit("", "1", error="That is a syntax error:\n- E101"),
        ],
    ),
    "a circle of two": (
        ("cycle", 5),
        [step for _ in range(3) for step in (shell("git status", "clean"), shell("git diff", ""))],
    ),
    "a circle of five with a new reading in each round": (
        ("cycle", 13),
        [
            step
            for n in range(3)
            for step in (*(shell(f"show {c}", c) for c in "abcde"), read(f"new-{n}", f"new {n}"))
        ],
    ),
    "a file that is changed back and forth": (("back_and_forth", 4), edits("one", "two", "one", "two")),
    "failures that are swapped for each other": (
        ("failures_return", 7),
        [
            step
            for n, error in enumerate(("KeyError: a", "TypeError: b", "KeyError: a", "TypeError: b"))
            for step in (fails("python app.py", error), *edits(f"version {n}"))
        ],
    ),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_circle_is_seen_by_its_rule_at_its_call(name: str) -> None:
    expected, steps = STUCK[name]

    assert told(*steps)[0] == expected


@pytest.mark.parametrize("name", STUCK)
def test_one_call_less_is_no_circle(name: str) -> None:
    (_, at), steps = STUCK[name]

    assert told(*steps[: at - 1]) == []


def test_every_rule_has_a_circle_of_its_own() -> None:
    assert {rule for (rule, _), _ in STUCK.values()} == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_switched_off_says_nothing(rule: str) -> None:
    for (_, _), steps in STUCK.values():
        assert rule not in {name for name, _ in told(*steps, limits=Limits(rules_off=f"other {rule}"))}


HONEST: dict[str, list[Call | list[Call]]] = {
    "fewer failures each time": [
        step
        for left in (4, 3, 2, 1)
        for step in (fails("npm test", f"Tests: {left} failed, {9 - left} passed"), *edits(f"{left}"))
    ],
    "another failure each time": [
        step for name in "abcd" for step in (fails("pytest", f"NameError: {name}"), *edits(name))
    ],
    "more tests, one of them red all the time": [
        step
        for total in (87, 88, 89, 90)
        for step in (fails("./check.sh", f"Total: {total} Fail: 1"), *edits(f"{total}"))
    ],
    "a green run between": [step for n in range(4) for step in (FAILING, *edits(f"{n}"), PASSING)],
    "something new between each two failures": [
        step
        for n in "abcde"
        for step in (fails(f"fetch {n}", "Error: access denied"), read(f"doc-{n}", f"page {n}"))
    ],
    "a batch over different targets": [
        edit(f"src/{n}.py", "x", error="<tool_use_error>File has not been read yet.</tool_use_error>")
        for n in range(8)
    ],
    "a refusal that the next call cures": [
        step
        for n in range(6)
        for step in (edit("src/a.py", f"{n}", error=NOT_FOUND), edit("src/a.py", f"{n} mended"))
    ],
    "siblings side by side": [[edit("src/a.py", f"{n}", error=NOT_FOUND) for n in range(5)]],
    "grep that finds nothing": [fails("grep -rn total src", "")] * 3,
    "differing searches that find nothing": [fails(f"rg {n} src", "") for n in range(9)],
    "line ranges of one file": [read("a.py", "x = 1", offset=n) for n in range(9)],
    "a look between two pieces of work": [
        step for word in "abcdefg" for step in (shell("git status", "clean"), shell(f"build {word}", word))
    ],
    "a check after each edit": [
        step for n in range(9) for step in (shell("node --check a.js", ""), *edits(f"{n}"))
    ],
    "three ways to ask for help, told apart by nothing but the wrapper": [
        fails(f"tool {flag}", "\n\nCommand exited with code 1") for flag in ("-h", "--help", "help", "-?")
    ],
    "probing for files that are not there": [
        fails(f"cat conf/{n}.json", f"cat: conf/{n}.json: No such file or directory") for n in "abcdef"
    ],
    "an attempt that is undone": edits("one", "two", "one"),
    "a content that comes back under new failures": [
        step
        for content, error in (("1", "KeyError"), ("2", "TypeError"), ("1", "OSError"), ("2", "NameError"))
        for step in (*edits(content), fails("pytest", error))
    ],
    "occurrences far apart": [
        step for n in range(3) for step in (fails("make"), *(read(f"{n}-{i}", f"{n}{i}") for i in range(17)))
    ],
    "a command that was tried again after each new step": [
        fails("curl localhost"),
        shell("start server", "started"),
        fails("curl localhost"),
        shell("start database", "started too"),
        fails("curl localhost"),
    ],
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_left_alone(name: str) -> None:
    assert told(*HONEST[name]) == []


WAITING = {
    "a pause before a look": shell("sleep 30 && gh pr checks 7", "pending", failed=True),
    "a log that is followed": shell("tail -f log", "pending"),
    "a loop until something is ready": shell("until curl -s x/health; do :; done", "pending", failed=True),
    "output of a task": look("TaskOutput", {"task_id": "b1"}, "running", CallKind.WAIT),
    "a program's input without any": look("write_stdin", {"chars": ""}, "still building", CallKind.WAIT),
    "a tool that says that it waits": look("mcp__hub__wait_for_job", {"id": 3}, "not yet", CallKind.MCP),
    "a log that grows": look("Read", {"file_path": "/w/tasks/b1.output"}, "step 1"),
    "the end of a log": shell("tail -n 20 build/run.log", "step 1"),
    "the status of a build": shell("gh run view 12", "in_progress"),
}


@pytest.mark.parametrize("name", WAITING)
def test_waiting_has_a_bound_of_its_own(name: str) -> None:
    pending = WAITING[name]

    assert told(*[pending] * (POLL_REPEATS - 1)) == []
    assert told(*[pending] * POLL_REPEATS) == [("same_call", POLL_REPEATS)]


@pytest.mark.parametrize(
    ("limits", "at"),
    [
        (Limits(failed_repeats=FAILED_REPEATS + 1), ("same_call", FAILED_REPEATS + 1)),
        (Limits(failed_repeats=2), ("same_call", 2)),
    ],
)
def test_a_threshold_of_the_user_holds(limits: Limits, at: tuple[str, int]) -> None:
    assert told(*[fails("make")] * 6, limits=limits)[0] == at


def test_one_call_alone_is_no_matter_of_differing_calls() -> None:
    assert told(*[fails("make")] * 9, limits=Limits(rules_off="same_call")) == []


def test_two_ways_of_writing_one_call_are_one() -> None:
    ways = [
        replace(
            fails("make  test "), arguments={"command": "make  test ", "description": "once", "timeout": 9}
        ),
        replace(fails("make test"), arguments={"timeout": 5, "command": "make test"}),
        replace(fails("make test"), arguments={"command": "make test", "description": "again"}),
    ]

    assert told(*ways) == [("same_call", 3)]


def test_blanks_in_quotes_tell_calls_apart() -> None:
    assert told(*[shell(f"check '{' ' * n}'", "the same") for n in range(1, 6)]) == []


def test_a_failure_of_another_kind_ends_the_count() -> None:
    assert told(fails("make"), fails("make"), fails("make", "KeyError"), fails("make"), fails("make")) == []


def test_the_limits_name_what_the_tests_use() -> None:
    assert (FAILED_REPEATS_WITH_EDITS, SAME_READ_REPEATS, SIGNATURE_REPEATS) == (4, 4, 4)
    assert (REFUSED_EDITS, CYCLE_ROUNDS) == (3, 3)


def test_a_call_that_the_user_stopped_never_ran_and_is_counted_like_any_refusal() -> None:
    refused = replace(
        shell("rm -r build"), status=CallStatus.NEVER_RAN, exit_code=None, output="The user doesn't"
    )

    assert told(*[refused] * 3) == [("same_call", 3)]
