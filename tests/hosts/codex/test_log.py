from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codex_rollouts import (
    CHILD,
    CHILDS_TURN,
    PARENT,
    PARENTS_TURN,
    THREAD,
    TURN,
    Line,
    answered,
    asked,
    completed,
    counted,
    event,
    header,
    item,
    line,
    name_of,
    tokens,
    turn,
)
from log_reading import in_lines, read_all

from tokeneconomizer.domain.call_ruling import rule_on
from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.codex import log
from tokeneconomizer.hosts.fields import time_of
from tokeneconomizer.hosts.log_format import AgentHomes
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
    LoggedUsage,
    LoggedWindow,
    SessionOrigin,
    SkippedLine,
)
from tokeneconomizer.hosts.steps import steps_of

if TYPE_CHECKING:
    from pathlib import Path

    from tokeneconomizer.hosts.records import Record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / name_of(THREAD)


def all_of(path: Path, *lines: Line) -> list[Record]:
    path.write_bytes(in_lines(lines))
    return read_all(log, path)


def records_of(path: Path, *lines: Line) -> list[Record]:
    """Return the records of lines behind a header, without the session and tokens."""
    found = all_of(path, header(), *lines)
    return [record for record in found if not isinstance(record, LoggedSession | LoggedUsage)]


def prompts_of(path: Path, *lines: Line) -> list[LoggedPrompt]:
    return [record for record in all_of(path, *lines) if isinstance(record, LoggedPrompt)]


@pytest.mark.parametrize("variable", [{}, {"CODEX_HOME": "elsewhere"}])
def test_files_are_found_where_the_agent_keeps_and_archives_them(
    tmp_path: Path, variable: dict[str, str]
) -> None:
    agent = tmp_path / (variable.get("CODEX_HOME") or ".codex")
    archived = agent / "archived_sessions" / name_of(PARENT)
    live = agent / "sessions" / "2026" / "01" / "05" / name_of(THREAD)
    for rollout in (archived, live, live.with_name("notes.jsonl")):
        rollout.parent.mkdir(parents=True, exist_ok=True)
        rollout.touch()

    found = log.files(AgentHomes(tmp_path, {name: str(agent) for name in variable}))

    assert [file.path for file in found] == [str(live), str(archived)]
    assert log.files(AgentHomes(tmp_path / "nobody")) == []
    assert log.mark(found[0]) != log.mark(log.file_at(tmp_path / "absent"))


GIT = {"repository_url": "https://example.org/app.git"}
SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "agent_role": "explorer"}}}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param({"git": GIT}, {"repository_url": GIT["repository_url"]}, id="new"),
        pytest.param(
            {"forked_from_id": PARENT}, {"origin": SessionOrigin.FORK, "parent": PARENT}, id="a fork"
        ),
        pytest.param(
            {"source": SPAWNED, "forked_from_id": PARENT},
            {
                "session_id": PARENT,
                "origin": SessionOrigin.SUB_AGENT,
                "parent": PARENT,
                "agent_id": THREAD,
                "agent_type": "explorer",
            },
            id="a sub-agent",
        ),
        pytest.param(
            {"source": {"subagent": "review"}},
            {"origin": SessionOrigin.SUB_AGENT, "agent_type": "review"},
            id="a sub-agent of nobody",
        ),
    ],
)
def test_a_header_tells_the_session(path: Path, told: Line, expected: dict[str, str]) -> None:
    (session,) = all_of(path, header(**told))

    common = {"session_id": THREAD, "folder": "/work/app", "version": "0.171.0"}
    assert session == LoggedSession(1, time_of("2026-01-05T10:00:00Z"), **(common | expected))  # type: ignore[arg-type]


def test_a_session_is_told_again_when_it_moves_and_not_when_its_header_is_repeated(path: Path) -> None:
    moved = line("turn_context", 2, turn_id=TURN, cwd="/work/other")
    said = event("user_message", 3, message="go on")
    found = all_of(path, header(), *turn(), header(), said, moved, said)

    sessions = [record for record in found if isinstance(record, LoggedSession)]
    assert [(session.line, session.folder) for session in sessions] == [(1, "/work/app"), (7, "/work/other")]


def test_a_file_without_its_header_is_its_names_session(path: Path) -> None:
    found = all_of(path, *turn(), event("user_message", message="go on"))

    assert [type(record) for record in found] == [LoggedSession, LoggedPrompt]
    assert isinstance(found[0], LoggedSession)
    assert found[0].session_id == THREAD


def user(text: str) -> Line:
    return item("message", role="user", content=[{"type": "input_text", "text": text}])


def item_of_user(*parts: Line) -> Line:
    return completed("UserMessage", content=list(parts))


TYPED: Line = {"type": "text", "text": "go on"}


@pytest.mark.parametrize(
    ("lines", "prompts"),
    [
        pytest.param([user("go on"), event("user_message", message="go on")], ["go on"], id="an event"),
        pytest.param([user("go on"), item_of_user(TYPED)], ["go on"], id="an item"),
        pytest.param([event("user_message", message="go on"), item_of_user(TYPED)], ["go on"], id="both"),
        pytest.param(
            [event("user_message", message="go on"), event("task_complete")] * 2,
            ["go on", "go on"],
            id="the same twice",
        ),
        pytest.param([event("user_message", message="", images=["x"])], [""], id="a picture"),
        pytest.param([item_of_user({"type": "image"})], [""], id="a picture as an item"),
        pytest.param([event("user_message", message=" ")], [], id="nothing"),
        pytest.param([user("<environment_context>x")], [], id="the surroundings"),
        pytest.param([event("user_message", message="<user_instructions>x")], [], id="instructions"),
        pytest.param([event("user_message", message="# AGENTS.md instructions for x")], [], id="AGENTS.md"),
        pytest.param([user("<hook_prompt hook_run_id='1'>no</hook_prompt>")], [], id="a hook's answer"),
    ],
)
def test_prompts_are_what_was_typed(path: Path, lines: list[Line], prompts: list[str]) -> None:
    assert [prompt.text for prompt in prompts_of(path, header(), *turn(), *lines)] == prompts


def test_a_prompt_has_its_turns_id_and_one_typed_meanwhile_one_of_its_own(path: Path) -> None:
    said = [event("user_message", message=text) for text in ("$review use mcp__docs__find", "and more")]
    first, second = prompts_of(path, header(), *turn(), *said)

    assert (first.prompt_id, second.prompt_id) == (TURN, f"{TURN} line 5")
    assert first.kind is PromptKind.HUMAN
    assert (first.tools_named, first.skills_named) == (("mcp__docs__find",), ("review",))


@pytest.mark.parametrize(("starts_turn", "prompts"), [(True, ["NEW_TASK\nlook"]), (False, [])])
def test_a_message_between_agents_is_a_machines_prompt_when_it_starts_a_turn(
    path: Path, starts_turn: bool, prompts: list[str]
) -> None:
    parts = [{"type": "input_text", "text": "NEW_TASK\n"}, {"type": "input_text", "text": "look"}]
    metadata = line("inter_agent_communication_metadata", 1, trigger_turn=starts_turn)
    found = prompts_of(path, header(source=SPAWNED), *turn(), metadata, item("agent_message", content=parts))

    assert [prompt.text for prompt in found] == prompts
    assert all((prompt.kind, prompt.agent_id) == (PromptKind.MACHINE, THREAD) for prompt in found)


def test_copied_turns_are_no_turns(tmp_path: Path) -> None:
    said = event("user_message", 0, message="the parent's")
    copies = [header(PARENT, 0), *turn(PARENTS_TURN, 0), said, asked("c0", "exec_command", second=0)]
    own = [*turn(CHILDS_TURN, 0), event("user_message", message="its own")]
    path = tmp_path / name_of(CHILD)

    found = all_of(path, header(CHILD, 0, forked_from_id=PARENT), *copies, *own)

    assert [type(record) for record in found] == [LoggedSession, LoggedPrompt]
    assert prompts_of(path, header(CHILD, 0, forked_from_id=PARENT), *copies, *own)[0].text == "its own"


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"
DELETION = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(
            asked("c", "exec_command", '{"cmd": "ls -a"}'),
            {"kind": CallKind.SHELL, "command": "ls -a"},
            id="a command",
        ),
        pytest.param(
            asked("c", "shell", '{"command": ["bash", "-lc", "ls | wc"]}'),
            {"kind": CallKind.SHELL, "command": "ls | wc"},
            id="a script",
        ),
        pytest.param(
            asked("c", "shell", '{"command": ["git", "log", "a b"]}'),
            {"kind": CallKind.SHELL, "command": "git log 'a b'"},
            id="words",
        ),
        pytest.param(
            item("local_shell_call", call_id="c", action={"type": "exec", "command": ["pwd"]}),
            {"tool": "local_shell", "kind": CallKind.SHELL, "command": "pwd"},
            id="a local shell",
        ),
        pytest.param(
            item("custom_tool_call", call_id="c", name="apply_patch", input=PATCH),
            {"kind": CallKind.EDIT, "target": "src/a.py", "edited": "b"},
            id="a patch",
        ),
        pytest.param(
            item("custom_tool_call", call_id="c", name="apply_patch", input=DELETION),
            {"kind": CallKind.EDIT, "target": "a.py", "edited": "delete"},
            id="a deletion",
        ),
        pytest.param(
            asked("c", "shell", '{"command": ["apply_patch", "*** Add File: b.py\\n+x\\n+y"]}'),
            {"kind": CallKind.EDIT, "target": "b.py", "edited": "x\ny", "command": ""},
            id="a patch given to the shell",
        ),
        pytest.param(
            asked("c", "find", '{"q": "x"}', namespace="mcp__docs"),
            {"tool": "mcp__docs__find", "kind": CallKind.MCP, "server": "docs"},
            id="MCP",
        ),
        pytest.param(asked("c", "mcp____x"), {"kind": CallKind.MCP, "server": "unknown"}, id="no server"),
        pytest.param(
            asked("c", "spawn_agent", namespace="collaboration"),
            {"tool": "spawn_agent", "kind": CallKind.AGENT},
            id="a sub-agent",
        ),
        pytest.param(
            asked("c", "write_stdin", '{"session_id": 1, "chars": ""}'), {"kind": CallKind.WAIT}, id="waiting"
        ),
        pytest.param(
            asked("c", "write_stdin", '{"session_id": 1, "chars": "y"}'),
            {"kind": CallKind.OTHER},
            id="typing",
        ),
        pytest.param(
            asked("c", "view_image", '{"path": "a.png"}'),
            {"kind": CallKind.READ, "target": "a.png"},
            id="a picture",
        ),
        pytest.param(
            asked("c", "exec_command", "no object"), {"arguments": {"input": "no object"}}, id="no arguments"
        ),
        pytest.param(
            item("web_search_call", id="ws", action={"type": "open_page", "url": "https://example.org"}),
            {"call_id": "ws", "kind": CallKind.WEB, "target": "https://example.org"},
            id="a search of the web",
        ),
        pytest.param(
            item("tool_search_call", call_id="c", arguments={"query": "docs"}),
            {"kind": CallKind.SEARCH, "target": "docs"},
            id="a search of tools",
        ),
    ],
)
def test_calls_are_read_in_neutral_words(path: Path, call: Line, expected: dict[str, object]) -> None:
    read = records_of(path, call)[0]

    assert isinstance(read, LoggedCall)
    assert {name: getattr(read, name) for name in expected} == expected


def result_of(path: Path, *lines: Line) -> LoggedResult:
    (result,) = [record for record in records_of(path, *lines) if isinstance(record, LoggedResult)]
    return result


def ran(call_id: str = "c", **fields: object) -> Line:
    told = {
        "id": call_id,
        "command": ["/bin/bash", "-lc", "make"],
        "duration": {"secs": 1, "nanos": 2_000_000},
    }
    return completed("CommandExecution", **(told | fields))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(
            ran(status="failed", exit_code=2, aggregated_output="whole"),
            ("whole", CallStatus.FAILED, 2, 1_002),
            id="an item",
        ),
        pytest.param(
            event("exec_command_end", call_id="c", exit_code=0, stdout="out", stderr="err"),
            ("outerr", CallStatus.OK, 0, None),
            id="an event",
        ),
        pytest.param(
            ran(status="declined", exit_code=-1), ("", CallStatus.NEVER_RAN, None, 1_002), id="declined"
        ),
        pytest.param(
            event("patch_apply_end", call_id="c", success=False, stdout="", stderr="no"),
            ("no", CallStatus.FAILED, None, None),
            id="a patch",
        ),
        pytest.param(
            completed("FileChange", id="c", status="declined"),
            ("", CallStatus.NEVER_RAN, None, None),
            id="a refusal",
        ),
        pytest.param(
            event("mcp_tool_call_end", call_id="c", invocation={"server": "s"}, result={"Err": "gone"}),
            ("gone", CallStatus.FAILED, None, None),
            id="MCP",
        ),
        pytest.param(
            completed(
                "McpToolCall",
                id="c",
                status="completed",
                result={"content": [{"type": "text", "text": "403"}], "isError": True},
            ),
            ("403", CallStatus.FAILED, None, None),
            id="MCP as an item",
        ),
    ],
)
def test_an_event_tells_a_result_better_than_the_text_for_the_model(
    path: Path, told: Line, expected: tuple[object, ...]
) -> None:
    result = result_of(path, asked("c", "exec_command"), told, answered("c", "for the model"))

    assert (result.text, result.status, result.exit_code, result.duration_ms) == expected


def test_a_command_of_the_user_is_no_call(path: Path) -> None:
    assert records_of(path, ran(source="user_shell")) == []


def test_a_command_that_goes_on_is_told_twice(path: Path) -> None:
    going = "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nso far"
    lines = [asked("c", "exec_command"), answered("c", going), asked("d", "write_stdin"), ran(exit_code=3)]
    results = [record for record in records_of(path, *lines) if isinstance(record, LoggedResult)]

    assert [(result.call_id, result.exit_code) for result in results] == [("c", None), ("c", 3)]


def test_who_waits_for_a_command_gets_its_output(path: Path) -> None:
    going = "Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nso far"
    ended = "Wall time: 1.0 seconds\nProcess exited with code 1\nOutput:\n1 failed in 0.1s"
    lines = [
        asked("c", "exec_command", '{"cmd":"pytest"}'),
        answered("c", going),
        asked("d", "write_stdin", '{"session_id":7,"chars":""}'),
        answered("d", ended),
    ]

    steps = [step for step in steps_of(records_of(path, *lines)) if isinstance(step, LoggedStep)]

    first, second = (step.calls[0] for step in steps)
    assert (first.command, first.background, rule_on(first).verdict) == ("pytest", True, None)
    assert (second.command, second.kind, rule_on(second).verdict) == ("pytest", CallKind.WAIT, "failed")


def script(call_id: str = "c") -> Line:
    return item("custom_tool_call", call_id=call_id, name="exec", input="text(1)")


def printed(text: str, call_id: str = "c") -> Line:
    parts = ["Script completed\nWall time 0.2 seconds\nOutput:\n", text]
    output = [{"type": "input_text", "text": part} for part in parts]
    return item("custom_tool_call_output", call_id=call_id, output=output)


CODE_3 = '{"chunk_id":"1","wall_time_seconds":0.1,"exit_code":3,"output":""}'


def test_what_a_script_called_is_part_of_its_step(path: Path) -> None:
    change = {"/w/b.txt": {"type": "add", "content": "hi\n"}}
    nested = [
        ran("exec-1", exit_code=3, status="failed"),
        completed("FileChange", id="exec-2", changes=change, status="completed"),
        completed("McpToolCall", id="exec-3", server="docs", tool="find", arguments={"q": "x"}),
    ]
    found = records_of(path, script(), *nested, nested[0], printed(CODE_3), asked("d", "update_plan"))
    calls = [record for record in found if isinstance(record, LoggedCall)]
    results = {record.call_id: record.status for record in found if isinstance(record, LoggedResult)}

    assert [(call.call_id, call.tool, call.step) for call in calls] == [
        ("c", "exec", "2"),
        ("exec-1", "exec_command", "2"),
        ("exec-2", "apply_patch", "2"),
        ("exec-3", "mcp__docs__find", "2"),
        ("d", "update_plan", "8"),
    ]
    assert (calls[1].command, calls[2].target, calls[2].edited) == ("make", "/w/b.txt", "hi")
    assert (results["exec-1"], results["c"]) == (CallStatus.FAILED, CallStatus.OK)


def test_a_script_whose_calls_are_not_shown_fails_with_the_command_that_it_ran(path: Path) -> None:
    result = result_of(path, script(), printed(CODE_3))

    assert (result.status, result.exit_code) == (CallStatus.FAILED, 3)


def test_parallel_calls_are_one_step(path: Path) -> None:
    lines = [
        asked("a", "list_dir"),
        asked("b", "list_dir"),
        answered("a", ""),
        answered("b", ""),
        asked("c", "x"),
    ]
    calls = [record for record in records_of(path, *lines) if isinstance(record, LoggedCall)]

    assert [call.step for call in calls] == ["2", "2", "6"]


@pytest.mark.parametrize(
    ("lines", "reasons"),
    [
        ([event("task_complete")], ["stop"]),
        ([event("turn_complete")], ["stop"]),
        ([event("turn_aborted", reason="interrupted")], ["no_stop"]),
        (
            [event("error", codex_error_info="usage_limit_exceeded"), event("task_complete")],
            ["usage_limit_exceeded"],
        ),
        ([event("error", codex_error_info={"http": {}}), event("task_complete")], ["http"]),
        ([event("error", message="x"), event("task_started"), event("task_complete")], ["stop"]),
    ],
)
def test_turns_end_with_their_reason(path: Path, lines: list[Line], reasons: list[str]) -> None:
    assert [record.reason for record in records_of(path, *lines) if isinstance(record, LoggedStop)] == reasons


def test_windows_compactions_and_sub_agents_are_told(path: Path) -> None:
    activity = {"agent_thread_id": CHILD, "agent_path": "/root/sub"}
    found = records_of(
        path,
        counted(tokens(90, 0, 10), tokens(90, 0, 10)),
        line("compacted", 3, message="so far"),
        completed("SubAgentActivity", 4, id="c", kind="started", **activity),
        completed("SubAgentActivity", 5, id="subagent-completed-1", kind="completed", **activity),
        completed("SubAgentActivity", 6, id="c", kind="interacted", **activity),
    )

    times = [time_of(f"2026-01-05T10:00:0{second}Z") for second in range(7)]
    assert found == [
        LoggedWindow(2, times[2], 100, 1_000),
        LoggedCompaction(3, times[3], "", summary_characters=6),
        LoggedSubAgent(4, times[4], CHILD, call_id="c"),
        LoggedSubAgent(5, times[5], CHILD, ended=True),
    ]


FUNCTION = {"type": "function", "name": "sleep", "description": "é"}
NAMESPACE = {"type": "namespace", "name": "mcp__docs", "tools": [FUNCTION | {"defer_loading": True}]}
SIZE = len('{"type":"function","name":"sleep","description":"é"}')
DEFERRED_SIZE = SIZE + len(',"defer_loading":true')


@pytest.mark.parametrize(
    ("told", "tools", "removed"),
    [
        pytest.param(
            item("additional_tools", tools=[FUNCTION, NAMESPACE]),
            [LoggedTool("sleep", SIZE), LoggedTool("mcp__docs__sleep", DEFERRED_SIZE, deferred=True)],
            (),
            id="offered",
        ),
        pytest.param(
            item("tool_search_output", call_id="c", tools=[NAMESPACE]),
            [LoggedTool("mcp__docs__sleep", DEFERRED_SIZE)],
            (),
            id="found",
        ),
        pytest.param(
            line(
                "world_state", 1, state={"top_level_tools": {"clock": None, "clock.sleep": None, "f.x": "1"}}
            ),
            [],
            ("sleep",),
            id="gone",
        ),
    ],
)
def test_the_catalogue_is_told_where_the_log_shows_it(
    path: Path, told: Line, tools: list[LoggedTool], removed: tuple[str, ...]
) -> None:
    (catalogue,) = records_of(path, told)

    assert isinstance(catalogue, LoggedCatalogue)
    assert (list(catalogue.tools), catalogue.removed, catalogue.whole) == (tools, removed, False)


def test_a_clients_own_tools_are_told_once(path: Path) -> None:
    offered = header(dynamic_tools=[{"namespace": "app", "name": "open", "deferLoading": True}])
    found = all_of(path, offered, offered)

    assert [type(record) for record in found] == [LoggedSession, LoggedCatalogue]


def test_lines_of_the_first_versions_have_no_wrapper(path: Path) -> None:
    output = '{"output":"no\\n","metadata":{"exit_code":1,"duration_seconds":0.5}}'
    found = all_of(
        path,
        {"id": THREAD, "timestamp": "2025-06-01T10:00:00.000Z", "instructions": None, "git": GIT},
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
        {"type": "message", "role": "assistant", "content": []},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": output},
    )

    session, prompt, second, call, result = found
    assert isinstance(session, LoggedSession)
    assert (session.session_id, session.repository_url) == (THREAD, GIT["repository_url"])
    assert isinstance(prompt, LoggedPrompt)
    assert (prompt.text, prompt.prompt_id) == ("go on", "")
    assert isinstance(second, LoggedPrompt)
    assert isinstance(call, LoggedCall)
    assert call.command == "ls"
    assert isinstance(result, LoggedResult)
    assert (result.text, result.exit_code, result.duration_ms) == ("no\n", 1, 500)


def test_a_record_after_a_cut_on_its_line_is_read_and_a_part_of_one_is_not(path: Path) -> None:
    said = in_lines([event("user_message", message="go on")])
    inside = b'{"timestamp":"2026-01-05T10:00:01Z","type":"event_msg","payload":{"type":"user_message","mess'
    path.write_bytes(in_lines([header()]) + inside + said)

    assert [type(record) for record in read_all(log, path)] == [LoggedSession, SkippedLine, LoggedPrompt]
