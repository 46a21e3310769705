from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from log_reading import in_lines, read_all, usages_in

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.copilot import log
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStop,
    LoggedSubAgent,
    LoggedUsage,
    LoggedWindow,
    SessionOrigin,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.records import Record

Event = dict[str, object]


def event(kind: str, data: Mapping[str, object], second: int = 0, **more: object) -> Event:
    at = f"2026-01-05T10:00:{second:02}.000Z"
    return {"type": kind, "data": dict(data), "id": f"{kind}-{second}", "timestamp": at} | more


GITHUB = {"cwd": "/work/app", "repository": "team/app", "repositoryHost": "github.com", "hostType": "github"}

START = event("session.start", {"sessionId": "s1", "copilotVersion": "1.0.102", "context": GITHUB})


def reply(second: int, **more: object) -> Event:
    usage: dict[str, object] = {
        "model": "gpt-4.1",
        "modelProvider": "openai",
        "inputTokens": 1000,
        "outputTokens": 50,
        "cacheReadTokens": 800,
        "cacheWriteTokens": 100,
        "reasoningTokens": 30,
    }
    return event("session.usage_record", {"usage": usage | more}, second)


def shutdown(second: int, **read: int) -> Event:
    """A shutdown that tells, for each model, how many tokens it has read in all."""
    metrics = {model: {"usage": {"inputTokens": tokens, "outputTokens": 1}} for model, tokens in read.items()}
    return event("session.shutdown", {"modelMetrics": metrics}, second)


def completed(**data: object) -> Event:
    return event("tool.execution_complete", {"toolCallId": "c1", "success": True} | data)


def message(*requests: Mapping[str, object]) -> Event:
    return event("assistant.message", {"messageId": "m1", "toolRequests": list(requests)})


def asked(name: str, arguments: object, **more: object) -> Event:
    return {"toolCallId": "c1", "name": name, "arguments": arguments} | more


@pytest.fixture
def events_file(tmp_path: Path) -> Path:
    path = tmp_path / "s1" / log.EVENTS_FILE
    path.parent.mkdir()
    return path


def records_of(path: Path, *events: Mapping[str, object]) -> list[Record]:
    """Return the records of events, without the session's own."""
    path.write_bytes(in_lines(events))
    return [record for record in read_all(log, path) if not isinstance(record, LoggedSession)]


def usages_of(path: Path, *events: Mapping[str, object]) -> list[UsageRecord]:
    return usages_in(records_of(path, *events))


def read_tokens(usages: list[UsageRecord]) -> list[tuple[str, int | None]]:
    return [(usage.model, usage.input) for usage in usages]


def test_a_replys_input_is_what_was_not_cached(events_file: Path) -> None:
    (usage,) = usages_of(events_file, START, reply(1))

    assert (usage.usage_id, usage.session_id, usage.project) == ("session.usage_record-1", "s1", "/work/app")
    assert (usage.model, usage.provider, usage.agent_id) == ("gpt-4.1", "openai", "")
    assert (usage.input, usage.cache_read, usage.cache_write_5m, usage.output) == (100, 800, 100, 50)
    assert (usage.reasoning, usage.cache_write_1h) == (30, None)


def test_what_a_reply_does_not_say_is_unknown(events_file: Path) -> None:
    bare = event("session.usage_record", {"usage": {"model": "m", "outputTokens": 0}}, 1)
    (usage,) = usages_of(events_file, START, bare)

    assert (usage.input, usage.output, usage.cache_read, usage.reasoning) == (None, 0, None, None)


@pytest.mark.parametrize(
    "of_sub_agent",
    [reply(1) | {"agentId": "agent-1"}, reply(1, parentToolCallId="agent-1")],
    ids=["by its id", "by its call"],
)
def test_a_sub_agents_reply_is_of_the_same_session(events_file: Path, of_sub_agent: Event) -> None:
    (usage,) = usages_of(events_file, START, of_sub_agent)

    assert (usage.session_id, usage.agent_id) == ("s1", "agent-1")


def test_a_reply_belongs_to_the_session_that_paid_for_it(events_file: Path) -> None:
    (usage,) = usages_of(events_file, START, reply(1, accounting={"sourceSessionId": "s0"}))

    assert usage.session_id == "s0"


def test_a_shutdown_adds_what_has_grown_since_the_last(events_file: Path) -> None:
    usages = usages_of(events_file, START, shutdown(1, m=1000), shutdown(2, m=1500, n=7), shutdown(3, m=1500))

    assert read_tokens(usages) == [("m", 1000), ("m", 500), ("n", 7)]
    assert len({usage.usage_id for usage in usages}) == 3


def test_a_shutdown_that_is_written_twice_adds_nothing(events_file: Path) -> None:
    first, second = shutdown(1, m=1000), shutdown(2, m=1500)

    assert read_tokens(usages_of(events_file, START, first, second, first, second)) == [
        ("m", 1000),
        ("m", 500),
    ]


def test_a_shutdown_after_replies_repeats_them(events_file: Path) -> None:
    assert len(usages_of(events_file, START, reply(1), shutdown(2, m=1000))) == 1


def test_what_an_older_version_took_before_replies_were_told_is_counted_once(events_file: Path) -> None:
    events = [START, shutdown(1, m=1000), reply(2), shutdown(3, m=2000), shutdown(4, m=2600)]

    assert read_tokens(usages_of(events_file, *events)) == [("m", 1000), ("gpt-4.1", 100), ("m", 600)]


def test_a_request_without_tokens_is_told_as_such(events_file: Path) -> None:
    assert read_tokens(usages_of(events_file, START, shutdown(1, m=0))) == [("m", 0)]


def test_a_session_without_its_first_line_is_named_by_its_folder(events_file: Path) -> None:
    events_file.write_bytes(in_lines([reply(1), event("user.message", {"content": "hi"}, 2)]))
    records = read_all(log, events_file)

    assert usages_in(records)[0].session_id == "s1"
    assert [type(record) for record in records if not isinstance(record, LoggedUsage)][-1] is LoggedPrompt
    assert [record.session_id for record in records if isinstance(record, LoggedSession)] == ["s1"]


@pytest.mark.parametrize(
    ("context", "url"),
    [
        (GITHUB, "https://github.com/team/app"),
        ({"cwd": "/work/app", "repository": "team/app", "hostType": "github"}, ""),
        (GITHUB | {"hostType": "ado"}, ""),
        ({"cwd": "/work/app"}, ""),
    ],
    ids=["with its host", "a version that names no host", "Azure DevOps", "no remote"],
)
def test_a_session_names_its_remote_where_the_log_does(
    events_file: Path, context: dict[str, str], url: str
) -> None:
    start = event("session.start", {"sessionId": "s2", "copilotVersion": "1.0.12", "context": context})
    events_file.write_bytes(in_lines([start]))

    (session,) = read_all(log, events_file)

    assert session == LoggedSession(
        1, session.at, "s2", folder="/work/app", repository_url=url, version="1.0.12"
    )


def test_a_resumed_session_works_where_it_was_resumed(events_file: Path) -> None:
    resume = event("session.resume", {"context": GITHUB | {"cwd": "/work/other"}}, 1)
    moved = event("session.context_changed", {"cwd": "/work/third"}, 3, agentId=7)
    events_file.write_bytes(in_lines([START, resume, reply(2), moved, reply(4)]))
    records = read_all(log, events_file)

    url = "https://github.com/team/app"
    places = [(found.folder, found.repository_url) for found in records if isinstance(found, LoggedSession)]
    assert places == [("/work/app", url), ("/work/other", url), ("/work/third", "")]
    assert [usage.project for usage in usages_in(records)] == ["/work/other", "/work/third"]


def test_a_session_that_works_for_another_names_it(events_file: Path) -> None:
    data = {"sessionId": "s2", "detachedFromSpawningParentSessionId": "s1"}
    events_file.write_bytes(in_lines([event("session.start", data)]))

    (session,) = read_all(log, events_file)

    assert isinstance(session, LoggedSession)
    assert (session.origin, session.parent) == (SessionOrigin.SUB_AGENT, "s1")


HUMAN, MACHINE = PromptKind.HUMAN, PromptKind.MACHINE


@pytest.mark.parametrize(
    ("data", "agent_id", "kind"),
    [
        ({}, "", HUMAN),
        ({"source": "user", "delivery": "steering"}, "", HUMAN),
        ({"source": "system"}, "", MACHINE),
        ({"isAutopilotContinuation": True}, "", MACHINE),
        ({"source": "agent-s1"}, "agent-1", MACHINE),
        ({"source": "skill-review"}, "", None),
        ({"content": "  "}, "", None),
    ],
)
def test_a_message_is_a_prompt_of_whoever_wrote_it(
    events_file: Path, data: Event, agent_id: str, kind: PromptKind | None
) -> None:
    written = event("user.message", {"content": "go"} | data, agentId=agent_id)
    prompts = [
        record for record in records_of(events_file, START, written) if isinstance(record, LoggedPrompt)
    ]

    assert [(prompt.kind, prompt.agent_id) for prompt in prompts] == ([(kind, agent_id)] if kind else [])


def test_a_prompt_has_the_id_under_which_its_hook_was_stored(events_file: Path) -> None:
    def hook(second: int, told_at: object, **more: object) -> Event:
        data = {"hookType": "userPromptSubmitted", "input": {"timestamp": told_at}}
        return event("hook.start", data, second, **more)

    lines = [
        START,
        hook(1, 1_767_607_201_000),
        hook(2, 1_767_607_202_000, agentId="a1"),
        event("user.message", {"content": "look"}, 3, agentId="a1"),
        event("user.message", {"content": "go"}, 4),
        event("user.message", {"content": "no hook ran"}, 5),
        hook(6, "not a number"),
        event("user.message", {"content": "nor here"}, 6),
    ]
    prompts = [record for record in records_of(events_file, *lines) if isinstance(record, LoggedPrompt)]

    assert [prompt.prompt_id for prompt in prompts] == [
        "user.message-3",
        "1767607201000",
        "user.message-5",
        "user.message-6",
    ]


def test_the_calls_of_one_message_are_one_step(events_file: Path) -> None:
    first, second = asked("bash", {"command": "ls"}), asked("view", {"path": "a.py"}) | {"toolCallId": "c2"}
    calls = records_of(events_file, START, message(first, second, {"name": "bash"}))

    assert [call.step for call in calls if isinstance(call, LoggedCall)] == ["m1", "m1"]


@pytest.mark.parametrize(
    ("request_of", "kind", "fields"),
    [
        (asked("bash", {"command": "ls"}), CallKind.SHELL, {"command": "ls"}),
        (asked("bash", {"command": "ls", "mode": "async"}), CallKind.SHELL, {"background": True}),
        (asked("view", {"path": "a.py"}), CallKind.READ, {"target": "a.py"}),
        (asked("create", {"path": "a.py", "file_text": "x"}), CallKind.EDIT, {"edited": "x"}),
        (asked("edit", {"old_str": "a", "new_str": ""}), CallKind.EDIT, {"edited": "delete\na"}),
        (asked("apply_patch", "*** Update File: a.py\n+x"), CallKind.EDIT, {"target": "a.py"}),
        (asked("lab-alpha", {}, mcpServerName="lab"), CallKind.MCP, {"server": "lab"}),
        (asked("github-mcp-server-get_commit", {}), CallKind.MCP, {"server": "github-mcp-server"}),
        (asked("task", {"prompt": "look"}), CallKind.AGENT, {}),
        (asked("report_intent", None), CallKind.OTHER, {"arguments": {}}),
    ],
)
def test_a_call_is_told_in_neutral_words(
    events_file: Path, request_of: Event, kind: CallKind, fields: Event
) -> None:
    (call,) = records_of(events_file, START, message(request_of))

    assert isinstance(call, LoggedCall)
    assert call.kind is kind
    assert {name: getattr(call, name) for name in fields} == fields


OK, FAILED, NEVER_RAN = CallStatus.OK, CallStatus.FAILED, CallStatus.NEVER_RAN


@pytest.mark.parametrize(
    ("data", "status", "exit_code"),
    [
        ({"result": {"content": "text"}}, OK, None),
        ({"shellExecution": {"exitCode": 3}}, FAILED, 3),
        ({"result": {"content": "x\n<shellId: 1 completed with exit code 128>"}}, FAILED, 128),
        ({"result": {"content": "x\n<exited with exit code 0>"}}, OK, 0),
        ({"result": {"content": "<exited with exit code 1> is what it says"}}, OK, None),
        ({"success": False, "error": {"message": "Path does not exist", "code": "failure"}}, FAILED, None),
        ({"success": False, "error": {"message": "no", "code": "denied"}}, NEVER_RAN, None),
        ({"success": False, "error": {"message": "Denied by preToolUse hook: no"}}, NEVER_RAN, None),
    ],
)
def test_a_result_says_how_the_call_ended(
    events_file: Path, data: Event, status: CallStatus, exit_code: int | None
) -> None:
    (result,) = records_of(events_file, START, completed(**data))

    assert isinstance(result, LoggedResult)
    assert (result.status, result.exit_code) == (status, exit_code)


def test_what_hooks_add_to_a_result_is_not_the_tools(events_file: Path) -> None:
    output = "x\n<shellId: 0 completed with exit code 2>"
    guidance = '\n\nTool "bash" succeeded. Additional guidance from postToolUse hooks:\nThink.'
    (result,) = records_of(events_file, START, completed(result={"content": output + guidance}))

    assert isinstance(result, LoggedResult)
    assert (result.text, result.exit_code) == (output, 2)


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (message(), "stop"),
        (event("abort", {"reason": "user_initiated"}), "no_stop"),
        (event("session.error", {"errorType": "rate_limit", "message": "wait"}), "rate_limit"),
        (event("session.error", {}), "error"),
    ],
)
def test_a_turn_ends_with_its_last_message_or_with_what_stopped_it(
    events_file: Path, last: Event, reason: str
) -> None:
    (stop,) = records_of(events_file, START, last)

    assert isinstance(stop, LoggedStop)
    assert stop.reason == reason


def test_a_sub_agent_starts_and_ends(events_file: Path) -> None:
    named = {"toolCallId": "c1", "agentName": "explore"}
    records = records_of(
        events_file,
        START,
        event("subagent.started", named, agentId="agent-1"),
        event("subagent.completed", named, agentId="agent-1"),
        event("subagent.failed", named),
    )

    found = [record for record in records if isinstance(record, LoggedSubAgent)]
    assert [(record.agent_id, record.ended) for record in found] == [
        ("agent-1", False),
        ("agent-1", True),
        ("c1", True),
    ]
    assert {(record.agent_type, record.call_id) for record in found} == {("explore", "c1")}


def test_a_compaction_tells_what_it_left(events_file: Path) -> None:
    data = {"success": True, "trigger": "manual", "preCompactionTokens": 900, "postCompactionTokens": 90}
    failed = event("session.compaction_complete", {"success": False, "error": "no"}, 2)
    done = event("session.compaction_complete", data | {"summaryContent": "four"}, 1)

    (compaction,) = records_of(events_file, START, done, failed)

    assert compaction == LoggedCompaction(2, compaction.at, "manual", 900, 90, 4)


@pytest.mark.parametrize(
    ("told", "used", "size", "tools"),
    [
        (
            completed(
                toolTelemetry={"metrics": {"context_current_tokens": 10.0, "context_token_limit": 64.0}}
            ),
            10,
            64,
            None,
        ),
        (reply(1, maxPromptTokens=64, toolTokenCount=5), None, 64, 5),
        (event("session.shutdown", {"currentTokens": 10, "toolDefinitionsTokens": 5}), 10, None, 5),
    ],
    ids=["after a call", "with a reply", "at shutdown"],
)
def test_the_window_and_the_tools_take_what_the_agent_says(
    events_file: Path, told: Event, used: int | None, size: int | None, tools: int | None
) -> None:
    records = records_of(events_file, START, told)

    windows = [(found.used, found.size) for found in records if isinstance(found, LoggedWindow)]
    assert windows == [(used, size)]
    assert [found.tokens for found in records if isinstance(found, LoggedCatalogue)] == (
        [tools] if tools else []
    )


def test_sessions_lie_in_folders_and_those_of_old_versions_in_files(tmp_path: Path) -> None:
    sessions = tmp_path / ".copilot" / "session-state"
    (sessions / "s1").mkdir(parents=True)
    for path in (sessions / "s1" / log.EVENTS_FILE, sessions / "s0.jsonl"):
        path.touch()
    moved = AgentHomes(Path("/nowhere"), {"COPILOT_HOME": str(tmp_path / ".copilot")})

    assert [Path(file.path).name for file in log.files(AgentHomes(tmp_path))] == ["s0.jsonl", log.EVENTS_FILE]
    assert log.files(moved) == log.files(AgentHomes(tmp_path))
    assert log.files(AgentHomes(tmp_path / "unused")) == []
