"""Neutral JSON Lines, for replays: `{"user": text}` and `{"tool", "input", "output", "is_error"}`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.claude_code.payload import call_from, exit_code_in, never_ran, text_of_result
from tokeneconomizer.hosts.failure_texts import tells_of_failure
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, SkippedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tokeneconomizer.domain.digests import Call
    from tokeneconomizer.hosts.records import ReplayRecord

NAME = "calls"

KINDS = {
    **dict.fromkeys(("bash", "shell", "execute_bash", "execute_command", "exec_command"), CallKind.SHELL),
    **dict.fromkeys(("run_shell_command", "run_command", "run", "terminal"), CallKind.SHELL),
    **dict.fromkeys(("apply_patch", "apply_diff", "create", "edit", "insert", "patch"), CallKind.EDIT),
    **dict.fromkeys(("replace", "replace_in_file", "str_replace", "write"), CallKind.EDIT),
    **dict.fromkeys(("write_file", "write_to_file", "edit_file", "create_file"), CallKind.EDIT),
    **dict.fromkeys(("goto", "open", "read", "read_file", "read_many_files", "view"), CallKind.READ),
    **dict.fromkeys(("find_file", "glob", "grep", "list", "list_directory", "list_files"), CallKind.SEARCH),
    **dict.fromkeys(("ls", "rg", "search_dir", "search_file", "search_files"), CallKind.SEARCH),
    **dict.fromkeys(("search_file_content", "find", "codebase_search"), CallKind.SEARCH),
    **dict.fromkeys(("fetch", "web_fetch", "web_search", "webfetch"), CallKind.WEB),
    **dict.fromkeys(("wait", "read_bash", "sleep"), CallKind.WAIT),
}
"""Names that agents and recorded runs use, in lower case; Claude Code's own names are known besides."""

TARGETS = ("file_path", "filePath", "absolute_path", "path", "filename", "file", "url")
COMMANDS = ("command", "cmd", "script")
"""Arguments with what a call is about, and with what a shell runs, in the words of several agents."""

NEW_CONTENT = ("new_string", "newString", "new_str", "content", "file_text", "patchText")
"""Arguments with what an edit writes, in the words of several agents."""

EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
"""Their argument `command` says whether they read or write."""

INPUT_TOOLS = frozenset({"write_stdin", "write_bash"})
"""They type into a running program; without any input they only wait for it."""


def read(lines: Iterable[bytes]) -> Iterator[ReplayRecord]:
    """Yield the records of neutral lines; each call is a step of its own."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:
            line = None
        if isinstance(line, dict) and isinstance(line.get("user"), str):
            yield LoggedPrompt(number, None, f"line {number}", line["user"], PromptKind.HUMAN)
        elif isinstance(line, dict) and isinstance(line.get("tool"), str) and line["tool"]:
            yield _step(number, line)
        else:
            yield SkippedLine(number)


def _step(number: int, line: dict[str, object]) -> LoggedStep:
    output = text_of_result(line.get("output"))
    given = line.get("input")
    arguments = given if isinstance(given, dict) else {"input": given}
    named = {
        "tool_name": line["tool"],
        "tool_input": arguments,
        "tool_use_id": f"line {number}",
    }
    kind = _kind(str(line["tool"]), arguments)
    call = call_from(named, output, _status(line, output), kind=kind)
    if line.get("is_error") is None and call.exit_code == 0:
        # Nothing says that it succeeded: only its text was not seen to tell of a failure.
        call = replace(call, exit_code=None)
    return LoggedStep((_in_neutral_words(call, arguments),), (number,), number, None)


def _in_neutral_words(call: Call, arguments: Mapping[str, object]) -> Call:
    """Return the call with what other agents name otherwise than Claude Code."""
    if call.kind is CallKind.SHELL and not call.command:
        call = replace(call, command=_first_text(arguments, COMMANDS))
    if not call.target:
        call = replace(call, target=_first_text(arguments, TARGETS))
    if call.kind is CallKind.EDIT and not call.edited:
        call = replace(call, edited=_written(arguments))
    return call


def _first_text(arguments: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((text for name in names if isinstance(text := arguments.get(name), str)), "")


def _written(arguments: Mapping[str, object]) -> str:
    """Return what an editor was told to write; one with a file open takes its whole input as one text."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    new = [texts[name] for name in NEW_CONTENT if name in texts]
    return "\n".join(new or texts.values())


def _kind(tool: str, arguments: Mapping[str, object]) -> CallKind | None:
    if tool.lower() in EDITORS:
        return CallKind.READ if arguments.get("command") == "view" else CallKind.EDIT
    if tool.lower() in INPUT_TOOLS:
        return CallKind.OTHER if any(arguments.get(name) for name in ("chars", "input")) else CallKind.WAIT
    return KINDS.get(tool.lower())


def _status(line: dict[str, object], output: str) -> CallStatus:
    """Return the status; where the line does not say, the text decides."""
    is_error = line.get("is_error")
    if is_error is None:
        is_error = never_ran(output) or bool(exit_code_in(output)) or tells_of_failure(output)
    if not is_error:
        return CallStatus.OK
    return CallStatus.NEVER_RAN if never_ran(output) else CallStatus.FAILED
