"""Neutral lines as records, with what is read from a result where the line does not say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.hosts.failure_texts import tells_of_failure
from tokeneconomizer.hosts.neutral_calls import read
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, SkippedLine


def call_of(tool: str, arguments: object, output: object = "", *, is_error: bool | None = None) -> Call:
    line = {"tool": tool, "input": arguments, "output": output, "is_error": is_error}
    (step,) = read([json.dumps(line).encode()])
    assert isinstance(step, LoggedStep)
    return step.calls[0]


def test_a_file_is_prompts_and_calls_by_line_and_what_is_neither_is_passed_over() -> None:
    lines = [
        b'{"user": "mend it"}',
        b"",
        b'{"tool": "bash", "input": {"command": "ls"}}',
        b"[1]",
        b"{",
        b'{"tool": ""}',
    ]
    records = list(read(lines))

    assert [type(record) for record in records] == [LoggedPrompt, LoggedStep, *[SkippedLine] * 3]
    assert [getattr(record, "line", None) for record in records] == [1, None, 4, 5, 6]


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("bash", {"command": "ls"}, CallKind.SHELL),
        ("Read", {"file_path": "a"}, CallKind.READ),
        ("goto", {"arguments": "12"}, CallKind.READ),
        ("search_dir", {"arguments": "x"}, CallKind.SEARCH),
        ("edit", {"arguments": "1:1"}, CallKind.EDIT),
        ("write_stdin", {"chars": ""}, CallKind.WAIT),
        ("write_stdin", {"chars": "y\n"}, CallKind.OTHER),
        ("execute_bash", {"cmd": "ls"}, CallKind.SHELL),
        ("str_replace_editor", {"command": "view", "path": "a"}, CallKind.READ),
        ("str_replace_editor", {"command": "create", "path": "a"}, CallKind.EDIT),
        ("unheard_of", "text", CallKind.OTHER),
    ],
)
def test_tools_have_the_kinds_that_recorded_runs_mean(tool: str, arguments: object, kind: CallKind) -> None:
    assert call_of(tool, arguments).kind is kind


def test_an_editor_with_a_file_open_writes_what_its_one_argument_says() -> None:
    assert call_of("edit", {"arguments": "1:1\nx = 1"}).edited == "1:1\nx = 1"
    assert call_of("edit", {"file_path": "a.py", "new_string": "x = 2"}).edited == "x = 2"


@pytest.mark.parametrize(
    ("said", "output", "status"),
    [
        (False, "Error: gone", CallStatus.OK),
        (True, "fine", CallStatus.FAILED),
        (None, "fine", CallStatus.OK),
        (None, "Exit code 2\nno", CallStatus.FAILED),
        (None, "bash: line 4: javac: command not found", CallStatus.FAILED),
        (None, "<tool_use_error>File has not been read yet.</tool_use_error>", CallStatus.NEVER_RAN),
    ],
)
def test_the_line_says_whether_it_failed_else_its_text_does(
    output: str, status: CallStatus, *, said: bool | None
) -> None:
    assert call_of("bash", {"command": "x"}, output, is_error=said).status is status


@pytest.mark.parametrize(
    "text",
    [
        "bash: line 7: cd: srcs: No such file or directory",
        "/bin/bash: line 2: unexpected EOF while looking for matching `'\nbash: line 4: syntax error",
        "zsh: command not found: rg",
        "ls: cannot access 'x': No such file or directory",
        "Traceback (most recent call last):\n  File 'a.py'\nKeyError: 'x'",
        "working ...\nValueError: no",
        "Usage: edit <start>:<end>",
        "Error: File 'a.py' already exists.",
        "File a.py not found",
        "make: *** [Makefile:3: all] Error 2",
        "EXECUTION TIMED OUT",
        "fatal: not a git repository",
    ],
)
def test_complaints_of_shells_programs_and_tools_tell_of_failure(text: str) -> None:
    assert tells_of_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all is well",
        "[File: /w/errors.py (3 lines total)]\n1:raise ValueError('Error: x')\n2:\n3:pass",
        'Found 3 matches for "error" in src:\nsrc/a.py (1 matches)',
        'No matches found for "Traceback" in src',
        "src/a.py:12: error handling is done in the caller\nsrc/b.py:1:x",
        "deployed without any error",
        "0 errors",
        "Errors are logged to app.log",
    ],
)
def test_texts_that_only_speak_of_errors_do_not(text: str) -> None:
    assert not tells_of_failure(text)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(tells_of_failure(text), bool)
    assert list(read([json.dumps({"tool": "x", "input": text, "output": text}).encode()]))


def test_commands_and_targets_are_found_under_the_names_of_several_agents() -> None:
    assert call_of("execute_bash", {"cmd": "ls -a"}).command == "ls -a"
    assert call_of("read_file", {"absolute_path": "/w/a.py"}).target == "/w/a.py"
    assert call_of("write_file", {"filePath": "a.py", "content": "x"}).target == "a.py"
