from __future__ import annotations

import json

import hook_payloads as hooks
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from workbench import Workbench, rows_of

from tokeneconomizer.domain.commands import HookCommand, StartSession
from tokeneconomizer.domain.errors import BadPayload
from tokeneconomizer.hosts.claude_code.payload import STORED_EVENTS
from tokeneconomizer.hosts.hook.wire import PAYLOAD_BYTES_MAX
from tokeneconomizer.hosts.table import HOSTS
from tokeneconomizer.scheduler.hook_calls import HookCall
from tokeneconomizer.scheduler.intake import DEPTH_MAX, decode, parse

DEEP = 100_000


def nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    return b'{"session_id": "s", "x": %s}' % (opening * levels + "0" + closing * levels).encode()


def states(bench: Workbench) -> list[str]:
    return [
        str(state) for (state,) in rows_of(bench.home.events, "SELECT CAST(state AS TEXT) FROM stored_events")
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no JSON"),
        (b" \n", "no JSON"),
        (b"\0", "no JSON"),
        (b"{", "no JSON"),
        (hooks.prompt("go on")[:-1], "no JSON"),
        (hooks.prompt("go on") + b"{}", "no JSON"),
        (b"[" * DEEP, "no JSON"),
        (b'{"x":' * DEEP, "no JSON"),
        (nested(DEEP), "no JSON"),
        (nested(DEEP, '{"x":', "}"), "no JSON"),
        (nested(DEPTH_MAX), "nests deeper than 200 levels"),
        (nested(DEPTH_MAX, '{"x":', "}"), "nests deeper than 200 levels"),
        (b"[]", "no JSON object"),
        (b"[{}]", "no JSON object"),
        (b"7", "no JSON object"),
        (b"-0.5e3", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b"null", "no JSON object"),
        (b"true", "no JSON object"),
        (b"NaN", "no JSON object"),
        (b"9" * 5_000, "no JSON"),
        (b"{}", "no agent of this version"),
        (b'{"hook_event_name": "Stop"}', "no agent of this version"),
        (b'{"hook_event_name": "Stop", "session_id": ""}', "has no `session_id`"),
        (b'{"hook_event_name": "Stop", "session_id": 7}', "has no `session_id`"),
        (b'{"session_id": "s"}', "shape: unknown"),
    ],
)
def test_what_is_no_payload_is_refused_in_words(data: bytes, reason: str) -> None:
    with pytest.raises(BadPayload, match=reason):
        decode(data, "claude_code", "Stop")


@pytest.mark.parametrize("host", ["", "claude_code", "codex", "an unknown agent"])
def test_the_shape_and_not_the_flag_tells_the_agent(host: str) -> None:
    module, command = decode(hooks.prompt("go on"), host, "")

    assert module.NAME == "claude_code"
    assert command.key.host == "claude_code"


def test_an_agent_that_a_later_version_speaks_with_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(HOSTS, "opencode")
    with pytest.raises(BadPayload, match="shape: opencode"):
        decode(b'{"session_id": "s"}', "opencode", "session.idle")


@pytest.mark.parametrize("levels", [1, 50, DEPTH_MAX - 2])
def test_what_nests_as_tool_inputs_do_is_taken(levels: int) -> None:
    assert parse(nested(levels))["session_id"] == "s"


@pytest.mark.parametrize(
    ("data", "session_id"),
    [
        (b'{"session_id": "caf\xe9", "n": 1}', "caf\N{REPLACEMENT CHARACTER}"),
        (b'{"session_id": "a", "session_id": "b"}', "b"),
        (b'{"session_id": "s", "x": NaN, "y": -Infinity, "z": 1e999}', "s"),
        (b'\xef\xbb\xbf{"session_id": "s"}', None),
        (b'{"session_id": "\\u0000"}', "\0"),
        (b'{"session_id": "\\ud83d\\ude00"}', "\U0001f600"),
        (b'{"session_id": "s", "n": 123456789012345678901234567890}', "s"),
    ],
)
def test_odd_json_is_read_as_far_as_it_can_be(data: bytes, session_id: str | None) -> None:
    if session_id is None:
        with pytest.raises(BadPayload):
            parse(data)
    else:
        assert parse(data)["session_id"] == session_id


def test_the_largest_payload_that_a_hook_sends_is_stored(bench: Workbench) -> None:
    text = "fix the ü test " * (PAYLOAD_BYTES_MAX // 30)
    data = hooks.prompt(text)
    bench.call(data)

    assert len(data) > PAYLOAD_BYTES_MAX // 2
    assert json.loads(states(bench)[-1])["characters"] == len(text)


def test_an_event_that_nobody_knows_is_answered_and_not_stored(bench: Workbench) -> None:
    replies = [bench.call(hooks.payload(event)).data for event in ("Notification", "x" * 9_000, "")]

    assert replies == [b"{}"] * 3
    assert len(repr(bench.captured.entries)) < 2_000
    assert bench.topics() == []


def test_halves_of_characters_are_stored_replaced(bench: Workbench) -> None:
    bench.call(
        b'{"hook_event_name": "SessionStart", "session_id": "\\ud800", "source": "a\\udfffb",'
        b' "cwd": "/\\ud800", "model": "\\ud83d"}'
    )

    stored = json.loads(states(bench)[0])
    assert (stored["session_id"], stored["source"], stored["model"]) == ("\ufffd", "a\ufffdb", "\ufffd")
    assert stored["checkout"] == "/\ufffd"


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "1e999", "9" * 30, "-" + "9" * 30, "true", '"7"', "1.5"]
)
def test_a_number_that_is_none_is_left_out(bench: Workbench, number: str) -> None:
    bench.call(hooks.payload("SessionStart", source="startup"))
    fields = f', "seconds_since_last_response": {number}, "context_tokens": {number}, "odd": NaN' + "}"
    bench.call(hooks.payload("SessionStart", source="resume")[:-1] + fields.encode())
    call = json.dumps(hooks.tool_call("call-1", "Bash", "x", command="ls"))[:-1]
    bench.call(
        hooks.step()[:-1].replace(b'"tool_calls": []', b'"tool_calls": [%s]' % (call + fields).encode())
        + b"}"
    )

    assert bench.topics() == ["started", "resumed", "tool_called", "tool_returned"]
    assert json.loads(states(bench)[1])["context_tokens"] is None
    assert bench.warnings() == []


@pytest.mark.parametrize(
    ("event", "reply"), [("Stop", b"{}"), ("", b"{}"), ("PreCompact", b""), ("SessionStart", b"{}")]
)
def test_what_is_refused_is_answered_with_the_events_empty_reply_and_logged_without_its_content(
    bench: Workbench, event: str, reply: bytes
) -> None:
    call = HookCall("claude_code", event, "plugin", 0, "0" * 32, b'{"the secret": ')

    assert bench.calls.answer(call).data == reply
    (entry,) = bench.captured.entries
    assert entry["event"] == "payload dropped"
    assert entry["bytes"] == len(call.payload)
    assert "secret" not in repr(entry)


@pytest.mark.parametrize(
    ("time_ns", "stored"),
    [
        (1_767_614_400_123_456_789, "2026-01-05T12:00:00.123456+00:00"),
        (0, "2026-01-05T12:00:00+00:00"),
        (10**18 * 9, "2026-01-05T12:00:00+00:00"),
    ],
)
def test_a_call_has_the_time_of_its_hook_unless_that_is_impossible(
    bench: Workbench, time_ns: int, stored: str
) -> None:
    payload = hooks.payload("SessionStart", source="startup")
    bench.calls.answer(HookCall("claude_code", "", "", time_ns, "0" * 32, payload))

    assert json.loads(states(bench)[0])["timestamp"] == stored


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "session_id", "agent_id", "cwd", "transcript_path", "source", "prompt", "prompt_id", "tool_calls",
        "turn_id", "tool_name", "tool_input", "tool_use_id", "tool_response", "error", "trigger", "reason",
        "agent_type",
    ]
)  # fmt: skip
PAYLOADS = st.builds(
    lambda event, fields: {"hook_event_name": event, "session_id": "s", **fields},
    st.sampled_from(sorted(STORED_EVENTS)) | st.text(max_size=5),
    st.dictionaries(FIELDS, JSON, max_size=8),
)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
@example(b'{"hook_event_name": "Stop", "session_id": "s"}')
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_command_or_refused(data: bytes) -> None:
    try:
        _, command = decode(data, "claude_code", "Stop")
    except BadPayload:
        return
    assert isinstance(command, HookCommand)


@given(PAYLOADS)
@settings(max_examples=150, deadline=None)
def test_any_fields_are_a_command_or_refused(payload: dict[str, object]) -> None:
    try:
        _, command = decode(json.dumps(payload).encode(), "", "")
    except BadPayload:
        return
    assert isinstance(command, HookCommand)
    assert not isinstance(command.step, StartSession) or isinstance(command.step.source, str)
