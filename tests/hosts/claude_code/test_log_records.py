"""Claude Code's transcript as records, from lines reduced to what the reader looks at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_code_lines import asks, at, line, raw, reply, result, says, user

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.claude_code.log_reader import TranscriptReader
from tokeneconomizer.hosts.claude_code.log_session import FileNames, meta_of, names_of
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStep,
    LoggedStop,
    LoggedSubAgent,
    LoggedTool,
    Record,
    ReplayRecord,
    SessionOrigin,
)
from tokeneconomizer.hosts.steps import steps_of

MAIN = Path("/home/dev/.claude/projects/-work-app/s1.jsonl")


def records_of(*lines: dict[str, object], path: Path = MAIN) -> list[Record]:
    reader = TranscriptReader(path, {})
    found: list[Record] = []
    for number, one in enumerate(lines, start=1):
        reader.usage(raw(one))
        found += reader.records(number, one)
    return found


def told(*lines: dict[str, object], path: Path = MAIN) -> list[Record]:
    """Return the records without those of the session itself."""
    return [record for record in records_of(*lines, path=path) if not isinstance(record, LoggedSession)]


def steps(*lines: dict[str, object]) -> list[ReplayRecord]:
    return list(steps_of(records_of(*lines)))


def test_a_turn_is_a_prompt_its_steps_and_a_stop() -> None:
    found = steps(user("mend it"), asks("a"), result("a"), says("done"))

    assert [type(record) for record in found] == [LoggedPrompt, LoggedStep, LoggedStop]
    assert [record.line for record in found if not isinstance(record, LoggedStep)] == [1, 4]


def test_calls_of_one_message_are_one_step_also_when_results_are_logged_between_them() -> None:
    (step,) = steps(
        asks("a"),
        result("a"),
        asks("b"),
        result("b", "y", is_error=True, cwd="/work/app/src"),
        asks("c", "m2"),
    )

    assert isinstance(step, LoggedStep)
    assert [(call.call_id, call.status) for call in step.calls] == [
        ("a", CallStatus.OK), ("b", CallStatus.FAILED),
    ]  # fmt: skip
    assert (step.lines, step.last_line) == ((1, 3), 4)


@pytest.mark.parametrize(
    "not_a_prompt",
    [
        user("a reminder", isMeta=True),
        user("the summary once more", repeatsCompactSummary=True),
        user("<local-command-stdout>ok</local-command-stdout>"),
        user("<command-name>/clear</command-name>"),
        user("<system-reminder>\nof the agent</system-reminder>"),
        user("   "),
        line("system", subtype="informational"),
        line(
            "attachment", attachment={"type": "queued_command", "prompt": "and then", "commandMode": "prompt"}
        ),
        line("of tomorrow"),
    ],
)
def test_lines_that_nobody_typed_are_no_prompts(not_a_prompt: dict[str, object]) -> None:
    assert told(not_a_prompt) == []


@pytest.mark.parametrize(
    ("content", "kind", "text", "tools", "skills"),
    [
        ("use Grep on it", PromptKind.HUMAN, "use Grep on it", ("Grep",), ()),
        ([{"type": "text", "text": "a"}, {"type": "image"}], PromptKind.HUMAN, "a", (), ()),
        ("<task-notification>\ndone", PromptKind.MACHINE, "<task-notification>\ndone", (), ()),
        (
            "<command-message>pr</command-message>\n<command-name>/pr</command-name><command-args>now</command-args>",
            PromptKind.HUMAN,
            "/pr now",
            (),
            ("pr",),
        ),
    ],
)
def test_a_prompt_is_told_as_it_was_typed(
    content: object, kind: PromptKind, text: str, tools: tuple[str, ...], skills: tuple[str, ...]
) -> None:
    assert told(user(content, promptId="p1", timestamp=at(1))) == [
        LoggedPrompt(1, told_at(1), "p1", text, kind, tools_named=tools, skills_named=skills)
    ]


def told_at(second: int) -> object:
    (prompt,) = told(user("x", timestamp=at(second)))
    assert isinstance(prompt, LoggedPrompt)
    return prompt.at


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        (says("done"), "stop"),
        (says("done", stop_reason="refusal"), "stop"),
        (user([{"type": "text", "text": "[Request interrupted by user]"}]), "no_stop"),
        (says("API Error", model="<synthetic>", isApiErrorMessage=True, error="rate_limit"), "rate_limit"),
        (says("API Error", model="<synthetic>", isApiErrorMessage=True), "error"),
        (line("system", subtype="turn_duration", durationMs=5), "stop"),
    ],
)
def test_a_turn_ends_once_with_its_reason(ends: dict[str, object], reason: str) -> None:
    _, stop = told(user("go on"), ends, ends)

    assert stop == LoggedStop(2, None, reason)


@pytest.mark.parametrize(
    "no_end",
    [
        says("and on", stop_reason=None),
        says("No response requested.", model="<synthetic>", stop_reason="stop_sequence"),
    ],
)
def test_a_reply_without_an_end_leaves_the_turn_open(no_end: dict[str, object]) -> None:
    assert [type(record) for record in told(user("go on"), no_end)] == [LoggedPrompt]


@pytest.mark.parametrize(
    ("tool", "output", "is_error", "outcome", "expected"),
    [
        ("Bash", "fine", False, {"stdout": "fine"}, (CallStatus.OK, 0, False, None)),
        ("Bash", "", False, {"interrupted": True}, (CallStatus.OK, 0, True, None)),
        ("Bash", "Exit code 3\nboom", True, "Error: Exit code 3", (CallStatus.FAILED, 3, False, None)),
        ("Read", "text", False, {"durationMs": 12}, (CallStatus.OK, None, False, 12)),
        ("WebSearch", "text", False, {"durationSeconds": 1.5}, (CallStatus.OK, None, False, 1500)),
        ("Edit", "<tool_use_error>no", True, None, (CallStatus.NEVER_RAN, None, False, None)),
        (
            "Bash",
            "The user doesn't want to proceed",
            True,
            "User rejected tool use",
            (CallStatus.NEVER_RAN, None, True, None),
        ),
    ],
)
def test_a_result_tells_how_its_call_ended(
    tool: str, output: str, is_error: bool, outcome: object, expected: tuple[object, ...]
) -> None:
    *_, found = told(asks("a", tool=tool), result("a", output, is_error=is_error, toolUseResult=outcome))

    assert isinstance(found, LoggedResult)
    assert (found.status, found.exit_code, found.interrupted, found.duration_ms) == expected


def test_a_call_is_told_in_neutral_words() -> None:
    block = {
        "type": "tool_use",
        "id": "a",
        "name": "mcp__docs__find",
        "input": {"path": "/work/app/x.py", "run_in_background": True},
    }

    assert told(reply(block, {"type": "tool_use", "id": "", "name": "cut"}, message_id="m1")) == [
        LoggedCall(
            line=1,
            at=None,
            step="m1",
            call_id="a",
            tool="mcp__docs__find",
            kind=CallKind.MCP,
            arguments={"path": "/work/app/x.py", "run_in_background": True},
            server="docs",
            target="/work/app/x.py",
            background=True,
        )
    ]


def test_a_session_is_told_again_when_a_prompt_comes_from_another_folder() -> None:
    sessions = [
        (record.line, record.folder, record.version)
        for record in records_of(
            line("mode", cwd="/nowhere"),
            user("one"),
            asks("a", cwd="/work/app/src"),
            user("two", cwd="/work/app/src"),
            user("three", cwd="/work/app/src", version="2.1.340"),
        )
        if isinstance(record, LoggedSession)
    ]

    assert sessions == [
        (2, "/work/app", "2.1.332"),
        (4, "/work/app/src", "2.1.332"),
        (5, "/work/app/src", "2.1.340"),
    ]


COPIED_BY_NAME = [
    user("one", forkedFrom={"sessionId": "s0", "messageUuid": "u1"}),
    asks("a", requestSessionId="s0"),
    result("a", forkedFrom={"sessionId": "s0", "messageUuid": "u3"}),
]
COPIED_BY_TIME = [
    line("queue-operation", operation="enqueue", timestamp=at(30)),
    line("attachment", attachment={"type": "hook_success"}, timestamp=at(1)),
    user("one", timestamp=at(1)),
    asks("a", timestamp=at(2)),
    result("a", timestamp=at(3)),
    line("system", subtype="compact_boundary", timestamp=at(4)),
    user("a summary", isCompactSummary=True, timestamp=at(5)),
    line("system", subtype="turn_duration", timestamp=at(6)),
]


@pytest.mark.parametrize(
    ("copied", "parent"), [(COPIED_BY_NAME, "s0"), (COPIED_BY_TIME, "")], ids=["named", "older than the fork"]
)
def test_what_a_fork_copied_is_told_of_its_parent_alone(copied: list[dict[str, object]], parent: str) -> None:
    found = records_of(*copied, user("go on", timestamp=at(31)))

    prompts = [record for record in found if not isinstance(record, LoggedSession)]
    *_, session = [record for record in found if isinstance(record, LoggedSession)]
    assert [type(record) for record in prompts] == [LoggedPrompt]
    assert (session.session_id, session.origin, session.parent) == ("s1", SessionOrigin.FORK, parent)


def test_what_hooks_add_before_the_first_prompt_makes_no_fork_of_a_session() -> None:
    session, prompt = records_of(
        line("queue-operation", operation="enqueue", timestamp=at(2)),
        line("attachment", attachment={"type": "hook_success"}, timestamp=at(1)),
        user("one", timestamp=at(3)),
    )

    assert isinstance(session, LoggedSession)
    assert session.origin is SessionOrigin.NEW
    assert isinstance(prompt, LoggedPrompt)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/p/s1.jsonl", FileNames("s1", "")),
        ("/subagents/p/s1/subagents/agent-a7.jsonl", FileNames("s1", "a7")),
        ("/p/s1/subagents/workflows/w1/agent-a7.jsonl", FileNames("s1", "a7")),
        ("/p/agent-a7.jsonl", FileNames("agent-a7", "a7")),
    ],
)
def test_where_a_file_lies_tells_whose_it_is(path: str, names: FileNames) -> None:
    assert names_of(Path(path)) == names


@pytest.mark.parametrize("content", ["", "{", "[]", '{"agentType": 7}'])
def test_what_stands_beside_a_sub_agents_file_may_be_damaged(tmp_path: Path, content: str) -> None:
    path = tmp_path / "agent-a7.jsonl"
    path.with_suffix(".meta.json").write_text(content)

    assert meta_of(path) == ("", "")


def test_a_sub_agents_file_tells_who_asked_for_it(tmp_path: Path) -> None:
    path = tmp_path / "s1" / "subagents" / "agent-a7.jsonl"
    path.parent.mkdir(parents=True)
    path.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "t1"}))

    session, started, prompt, stop = records_of(
        user("look around", isSidechain=True, agentId="a7"),
        says("found", isSidechain=True, agentId="a7"),
        path=path,
    )

    assert isinstance(session, LoggedSession)
    assert (session.session_id, session.origin, session.parent) == ("s1", SessionOrigin.SUB_AGENT, "s1")
    assert started == LoggedSubAgent(1, None, "a7", "Explore", "t1")
    assert isinstance(prompt, LoggedPrompt)
    assert (prompt.kind, prompt.agent_id) == (PromptKind.MACHINE, "a7")
    assert stop == LoggedStop(2, None, "stop", "a7")


NOTIFIED = "<task-notification>\n<task-id>a7</task-id>\n<status>completed</status>"


@pytest.mark.parametrize(
    "announced",
    [user(NOTIFIED), line("attachment", attachment={"type": "queued_command", "prompt": NOTIFIED})],
    ids=["as a prompt", "while another turn runs"],
)
def test_a_sub_agent_in_the_background_ends_when_it_is_announced(announced: dict[str, object]) -> None:
    launched = {"agentId": "a7", "status": "async_launched"}
    found = told(result("t1", toolUseResult=launched), announced, announced)

    assert [record for record in found if isinstance(record, LoggedSubAgent)] == [
        LoggedSubAgent(1, None, "a7", "", "t1"),
        LoggedSubAgent(2, None, "a7", ended=True),
    ]


def test_a_sub_agent_in_the_foreground_ends_with_its_result() -> None:
    shown = {"type": "agent_progress", "agentId": "a7"}
    done = {"agentId": "a7", "agentType": "Explore", "status": "completed", "totalDurationMs": 9}
    found = told(
        line("progress", data=shown, parentToolUseID="t1"),
        line("progress", data=shown, parentToolUseID="t1"),
        result("t1", toolUseResult=done),
    )

    assert [record for record in found if isinstance(record, LoggedSubAgent)] == [
        LoggedSubAgent(1, None, "a7", "", "t1"),
        LoggedSubAgent(3, None, "a7", "Explore", "t1", ended=True),
    ]


def test_sub_agents_of_old_logs_between_the_main_agents_lines_are_kept_apart() -> None:
    found = records_of(
        user("one"),
        asks("t1", tool="Task"),
        user("look", isSidechain=True),
        asks("a", "m9", isSidechain=True),
        result("a", isSidechain=True),
        says("found", "m10", isSidechain=True),
        result("t1"),
        says("done", "m2"),
    )

    main = list(steps_of(found))
    assert [type(record) for record in main] == [LoggedPrompt, LoggedStep, LoggedStop]
    assert [type(record) for record in steps_of(found, "side chain")] == [
        LoggedPrompt,
        LoggedStep,
        LoggedStop,
    ]


BOUNDARY = line(
    "system",
    subtype="compact_boundary",
    compactMetadata={"trigger": "auto", "preTokens": 900, "postTokens": 80},
)
SUMMARY = user("we did", isCompactSummary=True)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([BOUNDARY, SUMMARY], LoggedCompaction(1, None, "auto", 900, 80, 6)),
        ([BOUNDARY, user("go on")], LoggedCompaction(1, None, "auto", 900, 80, 0)),
        ([SUMMARY], LoggedCompaction(1, None, "", None, None, 6)),
    ],
)
def test_a_compaction_is_told_once_with_its_sizes(
    lines: list[dict[str, object]], expected: LoggedCompaction
) -> None:
    found = told(*lines, user("and on"), BOUNDARY | {"isSidechain": False})

    assert [record for record in found if isinstance(record, LoggedCompaction)] == [expected]


def test_a_request_shows_the_tools_with_the_size_of_each() -> None:
    definition = {"name": "Bash", "description": "r\u00fcns", "input_schema": {"type": "object"}}
    shape = {
        "system": [{"type": "text", "text": "You are"}, {"type": "text", "text": " an agent."}],
        "tools": [
            definition,
            {"name": "WebFetch", "defer_loading": True},
            {"name": "DeferredToolPlaceholder", "defer_loading": True},
            {"description": "without a name"},
        ],
    }

    assert told(line("api-request-shape", shape=shape, agentId="a7")) == [
        LoggedCatalogue(
            1,
            None,
            (LoggedTool("Bash", 69), LoggedTool("WebFetch", 40, deferred=True)),
            whole=True,
            agent_id="a7",
            prompt_characters=17,
        )
    ]


def test_names_of_deferred_tools_are_added_and_removed_also_where_a_fork_copied_them() -> None:
    def delta(added: list[object], removed: list[object]) -> dict[str, object]:
        attachment = {"type": "deferred_tools_delta", "addedNames": added, "removedNames": removed}
        return line("attachment", attachment=attachment, forkedFrom={"sessionId": "s0"})

    assert told(delta(["Monitor", 7], ["mcp__x__y"]), delta([], [])) == [
        LoggedCatalogue(1, None, (LoggedTool("Monitor", deferred=True),), whole=False, removed=("mcp__x__y",))
    ]
