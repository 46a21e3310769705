"""Messages of opencode as records, from documents reduced to what the reader looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opencode_layouts import document, reply, says, tokens, tool, user, write_export

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.opencode import log
from tokeneconomizer.hosts.opencode.log_records import USERS_COMMAND
from tokeneconomizer.hosts.opencode.tools import (
    edited_by,
    kind_of,
    server_of,
    skills_named_in,
    target_of,
    tools_named_in,
)
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStep,
    LoggedStop,
    LoggedSubAgent,
    LoggedUsage,
    Record,
    SessionOrigin,
)
from tokeneconomizer.hosts.steps import steps_of

if TYPE_CHECKING:
    from pathlib import Path

    from opencode_layouts import Json


@pytest.fixture
def records(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


class Reading:
    """Reads a session by way of an export."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, *messages: Json, **fields: object) -> list[Record]:
        path = write_export(self._folder / "export.json", document(*messages, **fields))  # type: ignore[arg-type]
        (batch,) = log.read(log.file_at(path), None, Wanted.ALL)
        return batch.records


def test_a_turn_is_a_prompt_its_calls_with_results_and_a_stop(records: Reading) -> None:
    found = records(
        user(1, "mend it"),
        reply(2, {"type": "step-start"}, tool("bash", "a", output="x"), finish="tool-calls"),
        reply(3, "done"),
    )

    assert [type(record) for record in found] == [
        LoggedSession, LoggedPrompt, LoggedUsage, LoggedCall, LoggedResult, LoggedUsage, LoggedStop,
    ]  # fmt: skip
    assert isinstance(found[-1], LoggedStop)
    assert found[-1].reason == "stop"


def test_the_calls_of_one_reply_are_one_step_also_when_their_ids_were_blanked_out(records: Reading) -> None:
    blank = "REDACTED"
    first = reply(
        2, tool("bash", blank, output="x"), tool("read", blank, output="y"), finish="tool-calls", id=blank
    )
    second = reply(3, tool("bash", blank, output="z"), finish="tool-calls", id=blank)

    steps = [step for step in steps_of(records(user(1, "go"), first, second)) if isinstance(step, LoggedStep)]

    assert [[call.output for call in step.calls] for step in steps] == [["x", "y"], ["z"]]


@pytest.mark.parametrize(
    "parts",
    [
        [says("added by opencode", synthetic=True)],
        [says("shown by a plugin", ignored=True)],
        [says("   ")],
        [{"type": "compaction", "auto": True}],
        [],
    ],
)
def test_a_message_that_nobody_wrote_is_no_prompt(records: Reading, parts: list[Json]) -> None:
    assert not [record for record in records(user(1, *parts)) if isinstance(record, LoggedPrompt)]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["one", says("added", synthetic=True), "two"], "one\ntwo"),
        ([{"type": "file", "mime": "image/png"}], ""),
        ([{"type": "subtask", "prompt": "look at it", "agent": "general"}], "look at it"),
    ],
)
def test_a_prompt_is_what_the_user_wrote(records: Reading, parts: list[Json | str], text: str) -> None:
    (prompt,) = [record for record in records(user(1, *parts)) if isinstance(record, LoggedPrompt)]

    assert (prompt.text, prompt.prompt_id, prompt.kind) == (text, "msg_0001", PromptKind.HUMAN)


def test_a_sub_agent_is_a_session_of_its_own_and_its_prompt_is_made_by_a_machine(records: Reading) -> None:
    session, prompt, usage, _ = records(user(1, "look"), reply(2, "seen", agent="general"), parentID="ses_0")

    assert isinstance(session, LoggedSession)
    assert (session.origin, session.parent) == (SessionOrigin.SUB_AGENT, "ses_0")
    assert isinstance(prompt, LoggedPrompt)
    assert prompt.kind is PromptKind.MACHINE
    assert isinstance(usage, LoggedUsage)
    assert usage.usage.session_id == "ses_1"


def test_a_task_tells_the_session_that_works_for_it(records: Reading) -> None:
    task = tool(
        "task", "a", input={"subagent_type": "general"}, metadata={"sessionId": "ses_2"}, output="seen"
    )

    found = records(reply(2, task, finish="tool-calls"))

    assert [
        (record.agent_id, record.agent_type, record.call_id, record.ended)
        for record in found
        if isinstance(record, LoggedSubAgent)
    ] == [("ses_2", "general", "a", False), ("ses_2", "general", "a", True)]


def test_what_a_fork_copied_is_not_told_again(records: Reading) -> None:
    session, *others = records(user(-20, "copied"), reply(-10, "copied"), user(5, "own"), reply(6, "own"))

    assert isinstance(session, LoggedSession)
    assert session.origin is SessionOrigin.FORK
    assert [type(record) for record in others] == [LoggedPrompt, LoggedUsage, LoggedStop]


@pytest.mark.parametrize(
    ("state", "status", "exit_code", "interrupted"),
    [
        ({"output": "x", "metadata": {"exit": 0}}, CallStatus.OK, 0, False),
        ({"output": "x", "metadata": {"exit": 3}}, CallStatus.FAILED, 3, False),
        ({"output": "x"}, CallStatus.OK, None, False),
        (
            {"output": "x\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 15000 ms",
             "metadata": {"exit": None}},
            CallStatus.FAILED, None, True,
        ),
        (
            {"output": "<shell_metadata>\nUser aborted the command\n</shell_metadata>",
             "metadata": {"exit": None}},
            CallStatus.FAILED, None, True,
        ),
        ({"output": "killed by a signal", "metadata": {"exit": None}}, CallStatus.FAILED, None, False),
        ({"status": "error", "error": "File not found: /x"}, CallStatus.FAILED, None, False),
        (
            {"status": "error", "error": "Tool execution aborted", "metadata": {"interrupted": True}},
            CallStatus.NEVER_RAN, None, True,
        ),
        (
            {"status": "error", "error": "Tool execution aborted", "input": {"command": "sleep 9"}},
            CallStatus.FAILED, None, True,
        ),
        (
            {"status": "error", "error": "The user rejected permission to use this specific tool call."},
            CallStatus.NEVER_RAN, None, False,
        ),
        (
            {"status": "error", "error": "The bash tool was called with invalid arguments: no command."},
            CallStatus.NEVER_RAN, None, False,
        ),
    ],
)  # fmt: skip
def test_a_result_tells_how_its_call_ended(
    records: Reading, state: Json, status: CallStatus, exit_code: int | None, interrupted: bool
) -> None:
    found = records(reply(2, tool("bash", "a", **state), finish="tool-calls"))

    (result,) = [record for record in found if isinstance(record, LoggedResult)]
    assert (result.status, result.exit_code, result.interrupted) == (status, exit_code, interrupted)
    assert result.duration_ms == 5


def test_a_call_that_opencode_could_not_read_never_ran(records: Reading) -> None:
    found = records(reply(2, tool("invalid", "a", output="no such tool"), finish="tool-calls"))

    assert [record.status for record in found if isinstance(record, LoggedResult)] == [CallStatus.NEVER_RAN]


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_that_never_came_back_has_no_result(records: Reading, status: str) -> None:
    found = records(reply(2, tool("bash", "a", status), finish="tool-calls"))

    assert [type(record) for record in found] == [LoggedSession, LoggedUsage, LoggedCall]


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"finish": "stop"}, ["stop"]),
        ({"finish": "length"}, ["stop"]),
        ({"finish": "tool-calls"}, []),
        ({"finish": "unknown"}, []),
        ({"finish": None}, []),
        ({"finish": None, "error": {"name": "MessageAbortedError"}}, ["no_stop"]),
        ({"finish": None, "error": {"name": "ProviderAuthError"}}, ["ProviderAuthError"]),
        ({"finish": None, "error": {}}, ["error"]),
    ],
)
def test_a_turn_ends_by_its_last_reply_an_interruption_or_an_error(
    records: Reading, fields: Json, reasons: list[str]
) -> None:
    found = records(reply(2, "x", **fields))

    assert [record.reason for record in found if isinstance(record, LoggedStop)] == reasons


@pytest.mark.parametrize(
    ("asked", "trigger"),
    [
        ([{"type": "compaction", "auto": True}], "auto"),
        ([{"type": "compaction", "auto": False}], "manual"),
        ([], ""),
    ],
)
def test_a_compaction_is_told_with_its_reason_and_is_paid_for(
    records: Reading, asked: list[Json], trigger: str
) -> None:
    _, usage, compaction = records(user(1, *asked), reply(2, "so far", summary=True, agent="compaction"))

    assert isinstance(usage, LoggedUsage)
    assert isinstance(compaction, LoggedCompaction)
    assert (compaction.trigger, compaction.summary_characters) == (trigger, len("so far"))


def test_a_compaction_that_failed_replaced_nothing(records: Reading) -> None:
    found = records(reply(2, summary=True, finish=None, error={"name": "ContextOverflowError"}))

    assert [type(record) for record in found] == [LoggedSession, LoggedUsage]


def test_a_command_that_the_user_ran_is_no_call_of_the_model(records: Reading) -> None:
    nothing = tokens(total=None, input=0, output=0, cache={"read": 0, "write": 0})

    found = records(
        user(1, says(USERS_COMMAND, synthetic=True)),
        reply(2, tool("bash", "a", input={"command": "ls"}, output="x"), finish=None, tokens=nothing),
    )

    assert [type(record) for record in found] == [LoggedSession]


@pytest.mark.parametrize(
    ("tool_name", "arguments", "kind", "target", "edited"),
    [
        ("bash", {"command": "ls"}, CallKind.SHELL, "", ""),
        ("edit", {"filePath": "/a", "oldString": "x", "newString": "y"}, CallKind.EDIT, "/a", "y"),
        ("edit", {"filePath": "/a", "oldString": "x", "newString": ""}, CallKind.EDIT, "/a", "delete\nx"),
        ("write", {"filePath": "/a", "content": "all"}, CallKind.EDIT, "/a", "all"),
        ("apply_patch", {"patchText": "*** Begin Patch\n*** Update File: /a\n+y"}, CallKind.EDIT, "/a",
         "*** Begin Patch\n*** Update File: /a\n+y"),
        ("read", {"filePath": "/a"}, CallKind.READ, "/a", ""),
        ("webfetch", {"url": "https://example.com"}, CallKind.WEB, "https://example.com", ""),
        ("tracker_list_issues", {"path": "/a"}, CallKind.MCP, "/a", ""),
        ("later", {}, CallKind.OTHER, "", ""),
    ],
)  # fmt: skip
def test_tools_are_told_in_neutral_words(
    tool_name: str, arguments: Json, kind: CallKind, target: str, edited: str
) -> None:
    assert (kind_of(tool_name), target_of(arguments)) == (kind, target)
    assert edited_by(tool_name, arguments) == edited
    assert server_of(tool_name) == ("tracker" if kind is CallKind.MCP else "")


@pytest.mark.parametrize(
    ("prompt", "tools", "skills"),
    [
        ("read the list, then edit it", (), ()),
        ("use the task tool", ("task",), ()),
        ("call `tracker_list_issues` and webfetch", ("tracker_list_issues", "webfetch"), ()),
        ("/review the last change", (), ("review",)),
    ],
)
def test_a_prompt_names_tools_and_skills(
    prompt: str, tools: tuple[str, ...], skills: tuple[str, ...]
) -> None:
    assert tools_named_in(prompt) == tools
    assert skills_named_in(prompt) == skills
