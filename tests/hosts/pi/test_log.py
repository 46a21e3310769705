from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from log_reading import in_lines, read_all, usages_in

from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.pi import log
from tokeneconomizer.hosts.records import (
    LoggedCall,
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedResult,
    LoggedSession,
    LoggedStop,
    LoggedTool,
    LoggedUsage,
    SessionOrigin,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.usage_record import UsageRecord
    from tokeneconomizer.hosts.records import Record

Entry = dict[str, object]


def at(second: int) -> str:
    return f"2026-01-05T10:00:{second:02}.000Z"


def entry(kind: str, second: int, /, **fields: object) -> Entry:
    return {"type": kind, "id": f"id-{second}", "parentId": None, "timestamp": at(second)} | fields


def header(second: int = 0, session_id: str = "s1", **fields: object) -> Entry:
    return {"type": "session", "version": 3, "id": session_id, "timestamp": at(second), "cwd": "/w"} | fields


def said(role: str, second: int, content: object = "", **fields: object) -> Entry:
    return entry("message", second, message={"role": role, "content": content} | fields)


USAGE = {"input": 148, "output": 40, "cacheRead": 1152, "cacheWrite": 7, "reasoning": 4, "totalTokens": 1347}


def reply(second: int, *blocks: Entry, usage: object = None, **fields: object) -> Entry:
    told = {"model": "m1", "provider": "lab", "usage": usage or USAGE, "stopReason": "stop"}
    return said("assistant", second, list(blocks), **(told | fields))


def asked(name: str, call_id: str = "c1", **arguments: object) -> Entry:
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def came_back(text: str, *, is_error: bool = False, tool: str = "bash", **fields: object) -> Entry:
    content = [{"type": "text", "text": text}]
    return said("toolResult", 2, content, toolCallId="c1", toolName=tool, isError=is_error, **fields)


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    return tmp_path / "2026-01-05T10-00-00-000Z_s1.jsonl"


def records_of(path: Path, *entries: Mapping[str, object]) -> list[Record]:
    """Return the records of entries, without the session's own and without tokens."""
    path.write_bytes(in_lines(entries))
    return [record for record in read_all(log, path) if not isinstance(record, LoggedSession | LoggedUsage)]


def usages_of(path: Path, *entries: Mapping[str, object]) -> list[UsageRecord]:
    path.write_bytes(in_lines(entries))
    return usages_in(read_all(log, path))


def test_a_replys_tokens_are_told_as_the_log_tells_them(session_file: Path) -> None:
    (usage,) = usages_of(session_file, header(), reply(1))

    assert (usage.usage_id, usage.session_id, usage.project) == (f"id-1:{at(1)}", "s1", "/w")
    assert (usage.model, usage.provider, usage.agent_id, usage.copied) == ("m1", "lab", "", False)
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write_5m) == (148, 40, 1152, 7)
    assert (usage.reasoning, usage.cache_write_1h) == (4, None)


def test_what_a_reply_does_not_say_is_unknown(session_file: Path) -> None:
    (usage,) = usages_of(session_file, header(), reply(1, usage={"output": 5, "input": "many"}))

    assert (usage.input, usage.output, usage.cache_read, usage.reasoning) == (None, 5, None, None)


def test_a_reply_that_failed_before_it_was_counted_took_nothing(session_file: Path) -> None:
    zeros = dict.fromkeys(USAGE, 0)

    assert usages_of(session_file, header(), reply(1, usage=zeros, stopReason="aborted")) == []


def test_summaries_and_cache_warming_are_paid_too(session_file: Path) -> None:
    usages = usages_of(
        session_file,
        header(),
        entry("model_change", 1, modelId="m2", provider="lab"),
        entry("compaction", 2, usage=USAGE, retainedTail=[{"role": "assistant", "usage": USAGE}]),
        entry("branch_summary", 3, usage=USAGE),
        entry("usage", 4, kind="cache_warm", model="m3", provider="other", usage=USAGE),
        reply(5),
        entry("compaction", 6, usage=USAGE),
    )

    assert [(usage.model, usage.provider) for usage in usages] == [
        ("m2", "lab"),
        ("m2", "lab"),
        ("m3", "other"),
        ("m1", "lab"),
        ("m1", "lab"),
    ]


def test_a_tool_that_asked_a_model_names_none(session_file: Path) -> None:
    (usage,) = usages_of(session_file, header(), came_back("answer", usage=USAGE))

    assert (usage.model, usage.input) == ("", 148)


def test_an_entry_without_an_id_is_told_apart_by_its_session_and_time(session_file: Path) -> None:
    without_id = {name: value for name, value in reply(1).items() if name != "id"}
    (usage,) = usages_of(session_file, header(), without_id)

    assert usage.usage_id == f"s1:{at(1)}"


def test_all_branches_of_a_file_happened(session_file: Path) -> None:
    entries = [
        header(),
        said("user", 1, "one"),
        reply(2),
        said("user", 3, "two"),
        reply(4),
        said("user", 5, "else"),
    ]
    branched = [*entries, reply(6) | {"parentId": "id-2"}]

    assert len(usages_of(session_file, *branched)) == 3
    prompts = [found for found in records_of(session_file, *branched) if isinstance(found, LoggedPrompt)]
    assert [prompt.text for prompt in prompts] == ["one", "two", "else"]


FORK = header(5, "s2", parentSession="/h/sessions/--w--/2026-01-05T10-00-00-000Z_s1.jsonl")


def test_a_forks_copied_turns_are_no_turns_and_its_copied_tokens_are_the_parents(session_file: Path) -> None:
    copied = [said("user", 1, "one"), reply(2, asked("bash"))]
    own = [said("user", 6, "two"), reply(7)]
    tools = said("system", 0, toolsAdded=[{"name": "bash"}])

    parent = usages_of(session_file, header(), tools, *copied)
    fork = usages_of(session_file, FORK, tools, *copied, *own)
    assert [(usage.session_id, usage.copied) for usage in fork] == [("s1", True), ("s2", False)]
    assert fork[0].usage_id == parent[0].usage_id
    records = records_of(session_file, FORK, tools, *copied, *own)
    assert [type(record) for record in records] == [LoggedCatalogue, LoggedPrompt, LoggedStop]


def test_a_header_opens_the_session(session_file: Path) -> None:
    session_file.write_bytes(in_lines([header(), FORK]))

    new, fork = read_all(log, session_file)

    assert new == LoggedSession(1, new.at, "s1", folder="/w")
    assert fork == LoggedSession(2, fork.at, "s2", SessionOrigin.FORK, parent="s1", folder="/w")


def test_a_file_without_its_header_is_named_by_its_name(session_file: Path) -> None:
    session_file.write_bytes(in_lines([reply(1), said("user", 2, "hi"), said("user", 3, "ho")]))
    records = read_all(log, session_file)

    assert usages_in(records)[0].session_id == "s1"
    assert [record.session_id for record in records if isinstance(record, LoggedSession)] == ["s1"]


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        (said("user", 1, "go"), ["go"]),
        (said("user", 1, [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}]), ["a"]),
        (said("user", 1, [{"type": "image", "data": "x"}]), [""]),
        (said("user", 1, []), []),
        (said("custom", 1, "from an extension"), []),
        (said("bashExecution", 1, command="ls"), []),
        (entry("custom_message", 1, content="steer", display=False), []),
    ],
    ids=["text", "blocks", "a picture", "nothing", "an extension's", "a command of the user", "steering"],
)
def test_what_a_person_wrote_is_a_prompt(session_file: Path, written: Entry, texts: list[str]) -> None:
    prompts = records_of(session_file, header(), written)

    assert [prompt.text for prompt in prompts if isinstance(prompt, LoggedPrompt)] == texts
    assert len(prompts) == len(texts)


@pytest.mark.parametrize(
    ("prompt", "skills"),
    [
        ('<skill name="web-search" location="/h/SKILL.md">', ("web-search",)),
        ("use /skill:review and /skill:deploy", ("deploy", "review")),
        ("review this", ()),
    ],
)
def test_a_prompt_names_the_skills_it_asks_for(
    session_file: Path, prompt: str, skills: tuple[str, ...]
) -> None:
    (found,) = records_of(session_file, header(), said("user", 1, prompt))

    assert isinstance(found, LoggedPrompt)
    assert found.skills_named == skills


@pytest.mark.parametrize(
    ("reason", "stops"),
    [
        ("toolUse", []),
        ("stop", ["stop"]),
        ("length", ["stop"]),
        ("aborted", ["no_stop"]),
        ("error", ["error"]),
    ],
)
def test_a_turn_ends_with_the_reply_that_asks_for_nothing_more(
    session_file: Path, reason: str, stops: list[str]
) -> None:
    records = records_of(session_file, header(), reply(1, stopReason=reason))

    assert [stop.reason for stop in records if isinstance(stop, LoggedStop)] == stops


@pytest.mark.parametrize(
    ("block", "kind", "fields"),
    [
        (asked("bash", command="ls"), CallKind.SHELL, {"command": "ls"}),
        (asked("read", path="a.py"), CallKind.READ, {"target": "a.py"}),
        (asked("write", path="a.py", content="x"), CallKind.EDIT, {"edited": "x"}),
        (
            asked("edit", edits=[{"newText": "x"}, {"oldText": "b", "newText": "y"}]),
            CallKind.EDIT,
            {"edited": "x\ny"},
        ),
        (asked("edit", oldText="a", newText=""), CallKind.EDIT, {"edited": "delete\na"}),
        (asked("mcp", server="lab"), CallKind.MCP, {"server": "lab"}),
        (asked("spawn_pi", tasks=[]), CallKind.OTHER, {"server": ""}),
    ],
)
def test_a_call_is_told_in_neutral_words(
    session_file: Path, block: Entry, kind: CallKind, fields: Entry
) -> None:
    (call,) = records_of(session_file, header(), reply(1, block, stopReason="toolUse"))

    assert isinstance(call, LoggedCall)
    assert (call.step, call.kind) == ("id-1", kind)
    assert {name: getattr(call, name) for name in fields} == fields


OK, FAILED, NEVER_RAN = CallStatus.OK, CallStatus.FAILED, CallStatus.NEVER_RAN


@pytest.mark.parametrize(
    ("back", "status", "exit_code", "interrupted"),
    [
        (came_back("hi\n"), OK, 0, False),
        (came_back("bad\n\n\nCommand exited with code 3", is_error=True), FAILED, 3, False),
        (came_back("Command exited with code 3"), OK, 0, False),
        (came_back("(no output)\n\nCommand aborted", is_error=True), FAILED, None, True),
        (came_back("x\n\nCommand timed out after 5 seconds", is_error=True), FAILED, None, True),
        (came_back("text", tool="read"), OK, None, False),
        (came_back("ENOENT: no such file", tool="read", is_error=True), FAILED, None, False),
        (came_back("Tool execution was blocked by an extension", is_error=True), NEVER_RAN, None, False),
        (came_back("Tool foo not found", tool="foo", is_error=True), NEVER_RAN, None, False),
        (came_back('Validation failed for tool "edit":', tool="edit", is_error=True), NEVER_RAN, None, False),
    ],
)
def test_a_result_says_how_the_call_ended(
    session_file: Path, back: Entry, status: CallStatus, exit_code: int | None, *, interrupted: bool
) -> None:
    (result,) = records_of(session_file, header(), back)

    assert isinstance(result, LoggedResult)
    assert (result.status, result.exit_code, result.interrupted) == (status, exit_code, interrupted)


def test_a_system_message_tells_which_tools_come_and_go(session_file: Path) -> None:
    tool = {"name": "read", "description": "r", "parameters": {}, "constrainedSampling": {"type": "json"}}
    message = said("system", 1, toolsAdded=[tool], toolsRemoved=[{"name": "bash"}])
    (catalogue,) = records_of(session_file, header(), message, said("system", 2, sections={}))

    characters = len('{"name":"read","description":"r","parameters":{}}')
    tools = (LoggedTool("read", characters),)
    assert catalogue == LoggedCatalogue(2, catalogue.at, tools, whole=False, removed=("bash",))


def test_a_compaction_tells_what_it_replaced(session_file: Path) -> None:
    (compaction,) = records_of(
        session_file, header(), entry("compaction", 1, summary="four", tokensBefore=99)
    )

    assert compaction == LoggedCompaction(2, compaction.at, "", 99, None, 4)


def test_sessions_lie_in_a_folder_for_each_project(tmp_path: Path) -> None:
    sessions = tmp_path / ".pi" / "agent" / "sessions"
    (sessions / "--w--").mkdir(parents=True)
    (sessions / "--w--" / "t_s1.jsonl").touch()
    moved = AgentHomes(Path("/nowhere"), {"PI_CODING_AGENT_DIR": str(tmp_path / ".pi" / "agent")})
    sessions_alone = AgentHomes(Path("/nowhere"), {"PI_CODING_AGENT_SESSION_DIR": str(sessions)})

    (file,) = log.files(AgentHomes(tmp_path))

    assert file.path == str(sessions / "--w--" / "t_s1.jsonl")
    assert log.files(moved) == log.files(sessions_alone) == [file]
    assert log.files(AgentHomes(tmp_path / "unused")) == []
