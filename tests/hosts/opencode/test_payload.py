"""What opencode's plugin sends, reduced from what 1.18.33 really hands to its hooks (S2.7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokeneconomizer.domain.commands import (
    Compact,
    EndSession,
    EndTurn,
    HookCommand,
    PromptKind,
    ReturnCalls,
    SessionKey,
    StartSession,
    SubmitPrompt,
)
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.domain.prune_evidence import OfferedTool
from tokeneconomizer.hosts.opencode import payload as opencode

SESSION = "ses_1"


def decode(payload: dict[str, object]) -> HookCommand:
    return opencode.decode({"folder": "/home/dev/project", **payload}, "")


def event(name: str, /, **properties: object) -> dict[str, object]:
    return {"name": "event", "event": {"type": name, "properties": {"sessionID": SESSION, **properties}}}


def prompt(*parts: dict[str, object], **more: object) -> dict[str, object]:
    output = {"message": {"id": "msg_1"}, "parts": list(parts)}
    return {"name": "chat.message", "input": {"sessionID": SESSION}, "output": output, **more}


def after(
    tool: str, output: str, /, metadata: dict[str, object] | None = None, **args: object
) -> dict[str, object]:
    call = {"tool": tool, "sessionID": SESSION, "callID": "call_1", "args": args}
    return {
        "name": "tool.execute.after",
        "input": call,
        "output": {"output": output, "metadata": metadata or {}},
    }


def failed(tool: str, error: str, /, **state: object) -> dict[str, object]:
    told = {"status": "error", "error": error, "input": {"filePath": "/a.txt"}, **state}
    return event(
        "message.part.updated", part={"type": "tool", "tool": tool, "callID": "call_1", "state": told}
    )


def call_in(payload: dict[str, object]) -> Call:
    step = decode(payload).step
    assert isinstance(step, ReturnCalls)
    assert step.whole_step
    (call,) = step.calls
    return call


@pytest.mark.parametrize(
    ("payload", "step"),
    [
        (event("session.created", info={"id": SESSION}), StartSession("startup", reassembles=True)),
        (event("session.resumed", info={"id": SESSION}), StartSession("resume", reassembles=True)),
        (
            event("session.created", info={"parentID": "ses_0", "agent": "general"}),
            StartSession("sub_agent", agent_type="general"),
        ),
        (
            {**event("session.resumed", info={"agent": "general"}), "parent": "ses_0"},
            StartSession("sub_agent", agent_type="general"),
        ),
        (event("session.idle"), EndTurn("stop")),
        (event("session.error", error={"name": "APIError"}), EndTurn("APIError")),
        (event("session.error", error={"name": "MessageAbortedError"}), EndTurn("no_stop")),
        (event("session.error"), EndTurn("error")),
        (event("session.deleted"), EndSession("deleted")),
        ({"name": "dispose", "sessionID": SESSION}, EndSession("dispose")),
        ({**event("session.compacted"), "summaryCharacters": 700, "trigger": "auto"}, Compact("auto", 700)),
        (event("session.compacted"), None),
        (event("session.updated"), None),
        (prompt({"type": "text", "text": "hello"}), SubmitPrompt("msg_1", "hello", PromptKind.HUMAN)),
        (
            prompt({"type": "text", "text": "find it"}, parent="ses_0"),
            SubmitPrompt("msg_1", "find it", PromptKind.MACHINE),
        ),
        (
            prompt({"type": "text", "text": "use the `webfetch` tool"}, {"type": "file"}),
            SubmitPrompt(
                "msg_1", "use the `webfetch` tool", PromptKind.HUMAN, tools_named=("webfetch",)
            ),
        ),
        (prompt({"type": "file"}), SubmitPrompt("msg_1", "", PromptKind.HUMAN)),
        (prompt({"type": "text", "text": "of a plugin", "synthetic": True}), None),
        (prompt({"type": "text", "text": " "}), None),
    ],
)  # fmt: skip
def test_each_payload_is_the_command_that_it_means(payload: dict[str, object], step: object) -> None:
    command = decode(payload)
    assert command.step == step
    assert (command.key, command.cwd) == (SessionKey("opencode", SESSION), "/home/dev/project")


def test_a_call_that_came_back_has_all_that_is_known_of_it() -> None:
    assert call_in(after("bash", "bad\n", {"exit": 3}, command="exit 3")) == Call(
        call_id="call_1",
        tool="bash",
        kind=CallKind.SHELL,
        server="",
        arguments={"command": "exit 3"},
        command="exit 3",
        target="",
        edited="",
        output="bad\n",
        status=CallStatus.FAILED,
        exit_code=3,
        interrupted=False,
        background=False,
        duration_ms=None,
    )


CUT_OFF = "x\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"


@pytest.mark.parametrize(
    ("payload", "status", "exit_code", "interrupted"),
    [
        (after("bash", "hi", {"exit": 0}, command="echo hi"), CallStatus.OK, 0, False),
        (after("bash", CUT_OFF, {"exit": None}, command="sleep 9"), CallStatus.FAILED, None, True),
        (after("read", "text", filePath="/a"), CallStatus.OK, None, False),
        (after("invalid", "no such tool"), CallStatus.NEVER_RAN, None, False),
        (failed("edit", "Could not find oldString"), CallStatus.FAILED, None, False),
        (failed("bash", "Tool execution aborted"), CallStatus.FAILED, None, True),
        (failed("bash", "Tool execution aborted", input={}), CallStatus.NEVER_RAN, None, True),
        (
            failed("bash", "The user rejected permission to use this specific tool call."),
            CallStatus.NEVER_RAN,
            None,
            False,
        ),
    ],
)
def test_how_a_call_ended(
    payload: dict[str, object], status: CallStatus, exit_code: int | None, *, interrupted: bool
) -> None:
    call = call_in(payload)
    assert (call.status, call.exit_code, call.interrupted) == (status, exit_code, interrupted)


def test_a_failed_call_tells_how_long_it_took_and_what_it_was_about() -> None:
    call = call_in(failed("edit", "no", time={"start": 10, "end": 25}))
    assert (call.duration_ms, call.target, call.output) == (15, "/a.txt", "no")


@pytest.mark.parametrize("status", ["pending", "running", "completed"])
def test_a_part_of_a_call_that_did_not_fail_is_told_by_another_hook(status: str) -> None:
    assert decode(failed("edit", "", status=status)).step is None


def test_the_tools_come_with_a_call() -> None:
    tools = [{"name": "bash", "characters": 5000}, {"name": "issues_list"}, {"characters": 1}, 7]
    assert decode({**after("read", "x"), "tools": tools}).offered == (
        OfferedTool("bash", characters=5000),
        OfferedTool("issues_list", server="issues"),
    )


@pytest.mark.parametrize("missing", ["tool", "callID"])
def test_a_call_without_its_name_or_id_is_refused_in_words(missing: str) -> None:
    payload = after("bash", "x")
    payload["input"] = {
        name: value
        for name, value in dict(payload["input"]).items()
        if name != missing  # type: ignore[call-overload]
    }
    with pytest.raises(BadPayload, match=missing):
        decode(payload)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
shapes = st.sampled_from(
    [
        event("session.created"),
        event("message.part.updated"),
        prompt(),
        after("bash", "x"),
        failed("edit", "x"),
    ]
)


@given(shapes, st.sampled_from(["name", "event", "input", "output", "parent", "tools"]), values)
def test_whatever_stands_in_a_payload_it_is_read_or_refused(
    payload: dict[str, object], name: str, value: object
) -> None:
    try:
        decode({**payload, name: value})
    except BadPayload:
        return
