"""What every agent's package keeps, whatever it is given (S2.1, S2.5): a new one is held to it by its row."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokeneconomizer.console.installations.table import INSTALLATIONS
from tokeneconomizer.domain.commands import HookCommand, ReturnCalls, SessionKey
from tokeneconomizer.domain.decisions import NOTHING, Decision
from tokeneconomizer.domain.digests import Call, CallKind, CallStatus
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.log_format import AgentHomes
from tokeneconomizer.hosts.logs import LOGS
from tokeneconomizer.hosts.pruning import TARGETS
from tokeneconomizer.hosts.recognise import HOST_NAMES
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.side_calls import CALLERS

if TYPE_CHECKING:
    from tokeneconomizer.hosts.host import Host

EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
    "PreCompact", "PostCompact", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "SessionEnd",
    "sessionStart", "userPromptSubmitted", "postToolUse", "postToolUseFailure", "agentStop", "sessionEnd",
    "subagentStart", "subagentStop", "errorOccurred", "session_start", "prompt", "tool_result", "turn_end",
    "session_end", "no such event", "",
)  # fmt: skip
"""Names of all agents' events, and some of none."""

SAID = Decision(context="look again\nat “this”", hint="it goes in circles")

names = st.sampled_from(
    [
        "session_id", "sessionId", "hook_event_name", "cwd", "prompt", "prompt_id", "turn_id", "tool_name",
        "toolName", "tool_input", "toolArgs", "tool_use_id", "tool_response", "tool_result", "toolResult",
        "tool_calls", "timestamp", "source", "agent_id", "agentId", "parentAgentId", "transcript_path",
        "error", "event", "reason", "isError", "content", "sections", "calls", "output", "text",
    ]
)  # fmt: skip
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
payloads = st.dictionaries(names, values, max_size=10)
lines = st.lists(payloads.map(json.dumps), max_size=4).map(lambda objects: "\n".join(objects).encode())
events = st.sampled_from(EVENTS)

every_host = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


@pytest.mark.parametrize(
    "table",
    [HOSTS, LOGS, TARGETS, CALLERS, INSTALLATIONS],
    ids=["hooks", "logs", "pruning", "side calls", "setup"],
)
def test_every_agent_has_its_row_in_every_table(table: dict[str, object]) -> None:
    assert set(table) == set(HOST_NAMES)


@every_host
def test_it_is_known_by_its_own_name(host: Host) -> None:
    assert HOSTS[host.NAME] is host


@every_host
@given(payload=payloads, event=events)
def test_a_payload_is_a_command_of_this_agent_or_refused_in_words(
    host: Host, payload: dict[str, object], event: str
) -> None:
    with suppress(BadPayload):
        command = host.decode(payload, event)
        assert command.key.host == host.NAME
        # What names no session may be known all the same; nothing is stored of it.
        assert command.key.session_id or command.step is None


@every_host
@pytest.mark.parametrize("event", EVENTS)
def test_nothing_to_say_is_the_empty_reply(host: Host, event: str) -> None:
    reply = host.encode(event, NOTHING)
    assert reply in {b"", b"{}"}
    assert host.context_in(reply) == ""


@every_host
@pytest.mark.parametrize("event", EVENTS)
def test_a_reply_is_json_objects_by_line_and_ends_with_the_answer(host: Host, event: str) -> None:
    reply = host.encode(event, SAID)
    for line in reply.decode().splitlines():
        assert isinstance(json.loads(line), dict)
    assert host.context_in(reply) in {"", SAID.context}


@every_host
def test_some_event_carries_context_to_the_model(host: Host) -> None:
    assert any(host.context_in(host.encode(event, SAID)) for event in EVENTS)


@every_host
@given(reply=st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_a_reply_of_another_form_holds_no_context(host: Host, reply: bytes) -> None:
    assert isinstance(host.context_in(reply), str)


@every_host
@given(
    tail=st.binary(max_size=200)
    | st.lists(payloads.map(json.dumps), max_size=4).map("\n".join).map(str.encode)
)
def test_a_damaged_log_tells_nothing_wrong_and_never_raises(host: Host, tail: bytes) -> None:
    call = Call(
        call_id="c1",
        tool="Bash",
        kind=CallKind.SHELL,
        server="",
        arguments={"command": "ls"},
        command="ls",
        target="",
        edited="",
        output="shop",
        status=CallStatus.OK,
        exit_code=None,
        interrupted=False,
        background=False,
        duration_ms=None,
    )
    command = HookCommand(
        key=SessionKey(host.NAME, "s"),
        event="PostToolUse",
        cwd="/",
        transcript="",
        step=ReturnCalls((call,), whole_step=True),
    )
    settled = host.settled(command, tail)
    assert settled.key == command.key
    assert isinstance(host.calls_of_turn(tail, "p1"), tuple)
    assert host.hides_hints(tail) in {True, False}


@every_host
@example(content=json.dumps({"\0": True, "trustedFolders": ["\0", "\ud800"], "\ud800": True}).encode())
@given(content=st.binary(max_size=80) | values.map(lambda value: json.dumps(value).encode()))
def test_a_damaged_record_of_trust_trusts_nothing(host: Host, content: bytes) -> None:
    assert host.trusts(content, {"/work/shop"}) is False


@every_host
def test_its_record_of_trust_lies_in_the_users_home_or_is_none(host: Host) -> None:
    home, path = Path("/home/dev"), host.trust_file(AgentHomes(Path("/home/dev")))
    assert path.is_relative_to(home) or path == Path(os.devnull)
