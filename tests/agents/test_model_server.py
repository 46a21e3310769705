import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from asking import ask, post
from hypothesis import given
from hypothesis import strategies as st
from messages_wire import prompt_blocks
from model_server import ModelServer
from prompt_blocks import (
    JsonObject,
    as_list,
    as_object,
    conversations,
    first_prefix_difference,
    messages_prefix_identical,
    new_text,
)
from replies import OVERLOADED, Match, Reply, call, say
from smoke_ledger import HEAD, LedgerRow, add_row
from terminal import painted_text

TOOLS: list[object] = [{"name": "Bash", "input_schema": {"type": "object"}}]
MARK = {"cache_control": {"type": "ephemeral"}}


def body(*messages: tuple[str, object], **more: object) -> JsonObject:
    listed = [{"role": role, "content": content} for role, content in messages]
    return {"model": "claude-test", "tools": TOOLS, "system": "Be brief.", "messages": listed, **more}


def stream_events(text: str) -> Iterator[JsonObject]:
    for event in text.strip().split("\n\n"):
        name, data = event.split("\n")
        parsed = as_object(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {parsed['type']}"
        yield parsed


def texts(message: JsonObject) -> list[object]:
    return [as_object(block).get("text") for block in as_list(message["content"])]


def test_replies_are_given_in_order_and_then_the_fallback() -> None:
    with ModelServer([Reply((say("one"),)), Reply((say("two"),), times=2)]) as server:
        answers = [texts(ask(server, body(("user", "go")))) for _ in range(4)]
    assert answers == [["one"], ["two"], ["two"], ["OK."]]
    assert server.unused_replies == []


@pytest.mark.parametrize(
    ("match", "hits"),
    [
        (Match(), True),
        (Match(has_tools=False), False),
        (Match(has_tools=None), True),
        (Match(tool="Bash"), True),
        (Match(tool="Edit"), False),
        (Match(model="test"), True),
        (Match(model="haiku"), False),
        (Match(system="brief"), True),
        (Match(first_user="first"), True),
        (Match(first_user="last"), False),
        (Match(last_user="last"), True),
        (Match(last_user="first"), False),
        (Match(anywhere="answer"), True),
        (Match(tool="Bash", anywhere="nowhere"), False),
    ],
)
def test_a_reply_is_given_only_where_all_conditions_hold(match: Match, *, hits: bool) -> None:
    request = body(("user", "first"), ("assistant", "answer"), ("user", "last"))
    with ModelServer([Reply((say("scripted"),), match)]) as server:
        assert texts(ask(server, request)) == (["scripted"] if hits else ["OK."])


def test_a_request_without_tools_does_not_eat_the_script() -> None:
    with ModelServer([Reply((say("scripted"),))]) as server:
        assert texts(ask(server, body(("user", "title please"), tools=[]))) == ["OK."]
        assert server.unused_replies == [0]
        assert server.loop_requests == []


def test_a_stream_carries_the_same_message_as_plain_json() -> None:
    reply = Reply((say("I look. \u00e9\u4e2d"), call("Bash", command="ls -a")), times=None)
    with ModelServer([reply]) as server:
        plain = ask(server, body(("user", "go")))
        status, text = post(server, body(("user", "go"), stream=True))
    events = list(stream_events(text))
    deltas = [as_object(event["delta"]) for event in events if event["type"] == "content_block_delta"]
    stop = as_object(next(event for event in events if event["type"] == "message_delta")["delta"])
    tool = as_object(as_list(plain["content"])[1])
    assert status == 200
    assert deltas[0]["text"] == texts(plain)[0]
    assert json.loads(str(deltas[1]["partial_json"])) == tool["input"] == {"command": "ls -a"}
    assert stop["stop_reason"] == plain["stop_reason"] == "tool_use"
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]


def test_tool_calls_get_ids_that_are_unique_in_the_server() -> None:
    with ModelServer([Reply((call("Bash"), call("Bash")), times=None)]) as server:
        messages = [ask(server, body(("user", "go"))) for _ in range(2)]
    ids = [as_object(block)["id"] for message in messages for block in as_list(message["content"])]
    assert len(set(ids)) == 4


def test_a_scripted_error_is_answered_as_the_api_does() -> None:
    with ModelServer([OVERLOADED]) as server:
        status, text = post(server, body(("user", "go")))
    assert status == 529
    assert json.loads(text) == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }


@pytest.mark.parametrize(
    ("value", "path", "status"),
    [
        (b"no json", "/v1/messages", 400),
        (b"[1]", "/v1/messages", 400),
        (b"\xff\xfe", "/v1/messages", 400),
        (b"{}", "/v1/other", 404),
        (b"{}", "/v1/messages/count_tokens", 200),
        (b"{}", "/v1/messages?beta=true", 200),
    ],
)
def test_every_request_gets_an_answer(value: bytes, path: str, status: int) -> None:
    with ModelServer([]) as server:
        assert post(server, value, path)[0] == status


def test_requests_are_logged_without_credentials(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with ModelServer([], log) as server:
        ask(server, body(("user", "go")))
        (request,) = server.requests
    assert request.body["model"] == "claude-test"
    assert request.headers["x-api-key"] == "<redacted>"
    assert "secret" not in log.read_text(encoding="utf-8")
    assert json.loads(log.read_text(encoding="utf-8"))["body"] == request.body


def test_usage_shows_what_a_marked_prefix_left_in_the_cache() -> None:
    first = [{"type": "text", "text": "x" * 400, **MARK}]
    later = [{"type": "text", "text": "x" * 400}]
    newest = [{"type": "text", "text": "y" * 200, **MARK}]
    with ModelServer([]) as server:
        ask(server, body(("user", first)))
        ask(server, body(("user", later), ("assistant", "fine"), ("user", newest)))
        before, after = (request.usage for request in server.requests)
    assert before["cache_read_input_tokens"] == 0
    assert after["cache_read_input_tokens"] == before["cache_creation_input_tokens"]
    assert after["cache_creation_input_tokens"] != 0


def test_given_usage_replaces_the_simulated_figures() -> None:
    with ModelServer([Reply((say("hi"),), usage={"input_tokens": 195_000})]) as server:
        usage = as_object(ask(server, body(("user", "go")))["usage"])
    assert usage["input_tokens"] == 195_000


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param([("user", "go")], [("user", [{"type": "text", "text": "go"}])], id="string and list"),
        pytest.param(
            [("user", [{"type": "text", "text": "go", **MARK}])],
            [("user", [{"type": "text", "text": "go"}]), ("assistant", "fine")],
            id="the mark moved on",
        ),
        pytest.param(
            [("user", [{"type": "tool_result", "tool_use_id": "a", "content": "out"}])],
            [
                (
                    "user",
                    [
                        {
                            "content": [{"type": "text", "text": "out"}],
                            "tool_use_id": "a",
                            "type": "tool_result",
                        }
                    ],
                )
            ],
            id="a result's content, and the order of keys",
        ),
        pytest.param(
            [("user", "go")],
            [("user", "go"), ("system", "context"), ("user", "more")],
            id="context at the end",
        ),
    ],
)
def test_blocks_are_a_prefix_where_nothing_earlier_was_changed(
    earlier: list[tuple[str, object]], later: list[tuple[str, object]]
) -> None:
    with ModelServer([]) as server:
        ask(server, body(*earlier))
        ask(server, body(*later))
        assert first_prefix_difference(server.requests) is None
        assert messages_prefix_identical(server.requests)


@pytest.mark.parametrize(
    ("earlier", "later", "excerpt"),
    [
        pytest.param(body(("user", "go")), body(("user", "went")), "went", id="text"),
        pytest.param(body(("user", "go")), body(("assistant", "go")), "assistant", id="role"),
        pytest.param(body(("user", "go")), body(("user", "go"), system="Be long."), "Be long.", id="system"),
        pytest.param(
            body(("user", "go")), body(("user", "go"), tools=[{"name": "Edit"}]), "Edit", id="tools"
        ),
        pytest.param(body(("user", "go"), ("assistant", "x")), body(("user", "go")), "nothing", id="cut off"),
    ],
)
def test_a_change_in_front_is_named(earlier: JsonObject, later: JsonObject, excerpt: str) -> None:
    with ModelServer([]) as server:
        ask(server, earlier)
        ask(server, later)
        difference = first_prefix_difference(server.requests)
    assert difference is not None
    assert excerpt in difference
    assert "request 2 of 2" in difference


def test_deferred_tools_are_no_part_of_the_prefix() -> None:
    deferred = [*TOOLS, {"name": "WebFetch", "defer_loading": True}]
    assert list(prompt_blocks(body(("user", "go"), tools=deferred))) == list(
        prompt_blocks(body(("user", "go")))
    )


def test_new_text_is_what_follows_the_shared_blocks() -> None:
    with ModelServer([]) as server:
        ask(server, body(("user", "go")))
        ask(server, body(("user", "go"), ("system", "a redirect")))
        previous, following = server.requests
    assert "a redirect" in new_text(previous, following)
    assert "go" not in new_text(previous, following)


def test_a_sub_agents_requests_are_a_conversation_of_their_own() -> None:
    with ModelServer([]) as server:
        for first, more in (("main", ()), ("helper", ()), ("main", (("assistant", "x"),))):
            ask(server, body(("user", first), *more))
        groups = conversations(server.requests)
    assert [len(group) for group in groups] == [2, 1]


JSON_CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BLOCKS = st.lists(st.dictionaries(st.sampled_from(["type", "text", "content"]), JSON_CONTENT), max_size=4)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": BLOCKS | st.text()}),
    max_size=5,
)


@given(MESSAGES, MESSAGES)
def test_blocks_of_a_conversation_start_with_those_of_any_earlier_part(
    first: list[JsonObject], more: list[JsonObject]
) -> None:
    earlier = list(prompt_blocks({"messages": first}))
    assert list(prompt_blocks({"messages": [*first, *more]}))[: len(earlier)] == earlier


def test_painted_text_has_neither_control_sequences_nor_blanks() -> None:
    raw = b"\x1b[2J\x1b[1;31mloop\x1b[0m\x1b[3Chint\x1b]0;title\x07\r\n\xe2\x8e\xbf  done\x1b(B"
    assert painted_text(raw) == "loophint\u23bfdone"


def test_the_ledger_grows_by_one_escaped_row_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENECONOMIZER_SMOKE_LEDGER", "1")
    path = tmp_path / "docs" / "ledger.md"
    row = LedgerRow("Claude Code", "1.2.3", "looping", "passed", "12 calls | 1 redirect\n1 hint")
    for _ in range(2):
        assert add_row(row, path=path, day=date(2026, 1, 31))
    line = "| 2026-01-31 | Claude Code | 1.2.3 | looping | passed | 12 calls \\| 1 redirect 1 hint |\n"
    assert path.read_text(encoding="utf-8") == HEAD + line * 2


def test_the_ledger_is_left_alone_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENECONOMIZER_SMOKE_LEDGER", raising=False)
    path = tmp_path / "ledger.md"
    assert not add_row(LedgerRow("a", "1", "s", "passed", "nothing"), path=path)
    assert not path.exists()
