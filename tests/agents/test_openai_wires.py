"""The two wires of OpenAI, each with the same cases: what is true of one script is true on both."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import completions_wire
import pytest
import responses_wire
from asking import ask, post, send
from hypothesis import given
from hypothesis import strategies as st
from model_server import MODELS, ModelServer
from prompt_blocks import (
    JsonObject,
    Prompt,
    as_list,
    as_object,
    conversations,
    first_prefix_difference,
    new_text,
)
from replies import OVERLOADED, Match, Reply, call, custom_call, namespaced_call, say
from wire import Wire

Message = tuple[str, str]
RESULT = "result"  # the role, in these cases, of a tool's result


@dataclass(frozen=True)
class Dialect:
    """How a request is written on a wire, and where an answer has its texts and calls."""

    path: str
    wire: Wire
    messages_key: str

    def body(self, *messages: Message, tools: tuple[str, ...] = ("shell",), **more: object) -> JsonObject:
        listed = [{"role": "system", "content": "Be brief."}, *(self._message(*item) for item in messages)]
        named = [self._tool(name) for name in tools]
        return {"model": "gpt-test", "tools": named, self.messages_key: listed, **more}

    def _message(self, role: str, text: str) -> JsonObject:
        if role != RESULT:
            return {"role": role, "content": text}
        if self.messages_key == "input":
            return {"type": "function_call_output", "call_id": "a", "output": text}
        return {"role": "tool", "tool_call_id": "a", "content": text}

    def _tool(self, name: str) -> JsonObject:
        definition = {"name": name, "parameters": {"type": "object"}}
        return (
            {"type": "function", **definition}
            if self.messages_key == "input"
            else {
                "type": "function",
                "function": definition,
            }
        )

    def said(self, answer: JsonObject) -> str:
        if "choices" in answer:
            message = as_object(as_object(as_list(answer["choices"])[0])["message"])
            return str(message["content"])
        items = [as_object(item) for item in as_list(answer["output"])]
        parts = [part for item in items if item["type"] == "message" for part in as_list(item["content"])]
        return "".join(str(as_object(part)["text"]) for part in parts)

    def calls(self, answer: JsonObject) -> list[JsonObject]:
        if "choices" in answer:
            message = as_object(as_object(as_list(answer["choices"])[0])["message"])
            return [as_object(item) for item in as_list(message.get("tool_calls"))]
        items = [as_object(item) for item in as_list(answer["output"])]
        return [item for item in items if item["type"] != "message"]


@dataclass(frozen=True)
class Logged:
    prompt: Prompt


RESPONSES = Dialect("/v1/responses", responses_wire, "input")
COMPLETIONS = Dialect("/v1/chat/completions", completions_wire, "messages")
on_each_wire = pytest.mark.parametrize(
    "dialect", [pytest.param(RESPONSES, id="responses"), pytest.param(COMPLETIONS, id="completions")]
)


def events_of(text: str) -> Iterator[JsonObject]:
    for event in text.strip().split("\n\n"):
        data = event.split("data: ", 1)[1]
        if data != "[DONE]":
            yield as_object(json.loads(data))


@on_each_wire
def test_replies_are_given_in_order_and_then_the_fallback(dialect: Dialect) -> None:
    with ModelServer([Reply((say("one"),)), Reply((say("two"),), times=2)]) as server:
        answers = [dialect.said(ask(server, dialect.body(("user", "go")), dialect.path)) for _ in range(4)]
        assert answers == ["one", "two", "two", "OK."]
        assert server.unused_replies == []
        assert [request.path for request in server.loop_requests] == [dialect.path] * 4


@on_each_wire
@pytest.mark.parametrize(
    ("match", "hits"),
    [
        (Match(), True),
        (Match(has_tools=False), False),
        (Match(tool="shell"), True),
        (Match(tool="Edit"), False),
        (Match(model="gpt"), True),
        (Match(system="brief"), True),
        (Match(system="first"), False),
        (Match(first_user="first"), True),
        (Match(first_user="the output"), False),
        (Match(last_user="the output"), True),
        (Match(last_user="first"), False),
        (Match(anywhere="answer"), True),
    ],
)
def test_a_reply_is_given_only_where_all_conditions_hold(
    dialect: Dialect, match: Match, *, hits: bool
) -> None:
    request = dialect.body(("user", "first"), ("assistant", "answer"), (RESULT, "the output"))
    with ModelServer([Reply((say("scripted"),), match)]) as server:
        assert dialect.said(ask(server, request, dialect.path)) == ("scripted" if hits else "OK.")


def test_a_completion_is_streamed_as_text_then_calls_then_usage() -> None:
    reply = Reply((say("I look. \u00e9\u4e2d"), call("shell", command="ls -a")), times=None)
    with ModelServer([reply]) as server:
        plain = ask(server, COMPLETIONS.body(("user", "go")), COMPLETIONS.path)
        status, text = post(server, COMPLETIONS.body(("user", "go"), stream=True), COMPLETIONS.path)
    *chunks, last = events_of(text)
    choices = [as_object(as_list(chunk["choices"])[0]) for chunk in chunks]
    deltas = [as_object(choice["delta"]) for choice in choices]
    pieces = [
        as_object(as_object(piece)["function"])
        for delta in deltas
        for piece in as_list(delta.get("tool_calls"))
    ]
    function = as_object(COMPLETIONS.calls(plain)[0]["function"])
    assert status == 200
    assert text.endswith("data: [DONE]\n\n")
    assert "".join(str(delta.get("content", "")) for delta in deltas) == COMPLETIONS.said(plain)
    assert (
        "".join(str(piece["arguments"]) for piece in pieces) == function["arguments"] == '{"command":"ls -a"}'
    )
    assert pieces[0]["name"] == "shell"
    assert choices[-1]["finish_reason"] == "tool_calls"
    assert as_object(last["usage"]).keys() == as_object(plain["usage"]).keys()


def test_a_response_is_streamed_item_by_item_and_then_whole() -> None:
    reply = Reply((say("I look. \u00e9\u4e2d"), call("shell", command="ls -a")), times=None)
    with ModelServer([reply]) as server:
        status, text = post(server, RESPONSES.body(("user", "go"), stream=True), RESPONSES.path)
    events = list(events_of(text))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    deltas = [str(event["delta"]) for event in events if str(event["type"]).endswith(".delta")]
    assert status == 200
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [events[0]["type"], events[-1]["type"]] == ["response.created", "response.completed"]
    assert as_object(events[-1]["response"])["output"] == done
    assert deltas == ["I look. \u00e9\u4e2d", '{"command":"ls -a"}']


def test_codex_calls_tools_with_raw_text_and_tools_in_a_namespace() -> None:
    blocks = (custom_call("exec", "text('x')"), namespaced_call("collaboration", "wait_agent", timeout_ms=1))
    with ModelServer([Reply(blocks)]) as server:
        custom, namespaced = RESPONSES.calls(ask(server, RESPONSES.body(("user", "go")), RESPONSES.path))
    assert (custom["type"], custom["name"], custom["input"]) == ("custom_tool_call", "exec", "text('x')")
    assert (namespaced["type"], namespaced["namespace"]) == ("function_call", "collaboration")
    assert namespaced["arguments"] == '{"timeout_ms":1}'


def test_a_custom_call_of_a_completion_is_streamed_with_its_text() -> None:
    with ModelServer([Reply((custom_call("patch", "*** Begin"),))]) as server:
        _, text = post(server, COMPLETIONS.body(("user", "go"), stream=True), COMPLETIONS.path)
    choices = [as_object(choice) for chunk in events_of(text) for choice in as_list(chunk["choices"])]
    calls = [
        as_object(as_object(item)["custom"])
        for choice in choices
        for item in as_list(as_object(choice["delta"]).get("tool_calls"))
    ]
    assert calls == [{"name": "patch", "input": ""}, {"input": "*** Begin"}]


@on_each_wire
def test_tool_calls_get_ids_that_are_unique_in_the_server(dialect: Dialect) -> None:
    with ModelServer([Reply((call("shell"), call("shell")), times=None)]) as server:
        answers = [ask(server, dialect.body(("user", "go")), dialect.path) for _ in range(2)]
    ids = [item.get("call_id", item["id"]) for answer in answers for item in dialect.calls(answer)]
    assert len(set(ids)) == 4


def test_tools_in_namespaces_and_in_the_input_count_as_tools() -> None:
    inner = [{"type": "custom", "name": "exec"}, {"type": "function", "name": "wait"}]
    added = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "functions", "tools": inner}],
    }
    body: JsonObject = {"model": "m", "tools": [{"type": "web_search"}], "input": [added]}
    assert responses_wire.read(body, {}).tools == ("web_search", "exec", "wait")


@pytest.mark.parametrize(
    ("dialect", "key"),
    [pytest.param(RESPONSES, "input_tokens", id="responses"), (COMPLETIONS, "prompt_tokens")],
)
def test_usage_shows_what_an_earlier_prefix_left_in_the_cache(dialect: Dialect, key: str) -> None:
    with ModelServer([]) as server:
        first = ask(server, dialect.body(("user", "x" * 400)), dialect.path)
        second = ask(
            server, dialect.body(("user", "x" * 400), ("assistant", "fine"), ("user", "y")), dialect.path
        )
    before, after = as_object(first["usage"]), as_object(second["usage"])
    cached = [as_object(usage[f"{key}_details"])["cached_tokens"] for usage in (before, after)]
    assert cached == [0, server.requests[0].usage["cache_creation_input_tokens"]]
    assert int(str(after[key])) > int(str(before[key])) > 100


@pytest.mark.parametrize(
    ("dialect", "key", "output_key"),
    [
        pytest.param(RESPONSES, "input_tokens", "output_tokens", id="responses"),
        pytest.param(COMPLETIONS, "prompt_tokens", "completion_tokens", id="completions"),
    ],
)
def test_given_usage_is_told_in_the_words_of_the_wire(dialect: Dialect, key: str, output_key: str) -> None:
    given = {
        "input_tokens": 100,
        "cache_read_input_tokens": 800,
        "cache_creation_input_tokens": 0,
        "output_tokens": 50,
    }
    with ModelServer([Reply((say("hi"),), usage=given)]) as server:
        usage = as_object(ask(server, dialect.body(("user", "go")), dialect.path)["usage"])
    assert (usage[key], usage[output_key], usage["total_tokens"]) == (900, 50, 950)
    assert as_object(usage[f"{key}_details"])["cached_tokens"] == 800


def test_a_reply_that_was_cut_says_so_on_each_wire() -> None:
    with ModelServer([Reply((say("hal"),), stop_reason="max_tokens", times=2)]) as server:
        response = ask(server, RESPONSES.body(("user", "go")), RESPONSES.path)
        completion = ask(server, COMPLETIONS.body(("user", "go")), COMPLETIONS.path)
    assert response["status"] == "incomplete"
    assert as_object(as_list(completion["choices"])[0])["finish_reason"] == "length"


@on_each_wire
def test_a_scripted_error_has_the_inner_object_that_openai_clients_read(dialect: Dialect) -> None:
    with ModelServer([OVERLOADED]) as server:
        status, text = post(server, dialect.body(("user", "go")), dialect.path)
    assert status == 529
    assert json.loads(text)["error"] == {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/v1/responses"),
        ({}, "/v1/chat/completions"),
        ({"input": "go"}, "/v1/responses"),
        ({"tools": [{}], "input": [{}]}, "/v1/responses"),
        ({"tools": [{}], "messages": [{}]}, "/v1/chat/completions"),
    ],
)
def test_a_bare_request_gets_an_answer_too(body: JsonObject, path: str) -> None:
    with ModelServer([]) as server:
        assert post(server, body, path)[0] == 200


def test_the_models_are_listed() -> None:
    with ModelServer([]) as server:
        status, text = send(server, "GET", "/v1/models?client_version=1")
    assert status == 200
    assert [model["id"] for model in json.loads(text)["data"]] == list(MODELS)


@on_each_wire
def test_context_at_the_end_leaves_the_prefix_whole_and_is_new_text(dialect: Dialect) -> None:
    with ModelServer([]) as server:
        ask(server, dialect.body(("user", "go")), dialect.path)
        ask(
            server,
            dialect.body(("user", "go"), ("assistant", "x"), ("developer", "a redirect")),
            dialect.path,
        )
        assert first_prefix_difference(server.requests) is None
        assert "a redirect" in new_text(*server.requests)
        assert "go" not in new_text(*server.requests)


@on_each_wire
@pytest.mark.parametrize(
    ("later", "tools", "excerpt"),
    [
        pytest.param(("user", "went"), ("shell",), "went", id="text"),
        pytest.param(("developer", "go"), ("shell",), "go", id="role"),
        pytest.param(("user", "go"), ("shell", "edit"), "edit", id="tools"),
    ],
)
def test_a_change_in_front_is_named(
    dialect: Dialect, later: Message, tools: tuple[str, ...], excerpt: str
) -> None:
    with ModelServer([]) as server:
        ask(server, dialect.body(("user", "go"), ("user", "more")), dialect.path)
        ask(server, dialect.body(later, ("user", "more"), tools=tools), dialect.path)
        difference = first_prefix_difference(server.requests)
    assert difference is not None
    assert excerpt in difference


@pytest.mark.parametrize(
    ("wire", "earlier", "later"),
    [
        pytest.param(
            completions_wire,
            {"role": "assistant", "content": "x", "refusal": None},
            {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
            id="a string and a list, and null",
        ),
        pytest.param(
            completions_wire,
            {"role": "tool", "tool_call_id": "a", "content": "x"},
            {"role": "tool", "tool_call_id": "a", "content": "x", "__copilotMessageSource": {}},
            id="a note of the agent",
        ),
        pytest.param(
            responses_wire,
            {"type": "function_call", "id": "fc_1", "status": "completed", "call_id": "a", "name": "n"},
            {"type": "function_call", "id": "fc_2", "call_id": "a", "name": "n"},
            id="the id of an item",
        ),
        pytest.param(
            responses_wire,
            {"type": "message", "id": "msg_1", "role": "user", "content": "x"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
            id="a string and a list in a response",
        ),
    ],
)
def test_what_no_model_sees_makes_no_difference(wire: Wire, earlier: JsonObject, later: JsonObject) -> None:
    key = "input" if wire is responses_wire else "messages"
    before, after = (wire.read({key: [item]}, {}).blocks for item in (earlier, later))
    assert before == after != ()


def test_a_sub_agent_of_codex_is_told_by_its_thread_where_the_words_are_the_same() -> None:
    one, other = ({"thread-id": "root"}, {"thread-id": "child"})
    first, more = RESPONSES.body(("user", "go")), RESPONSES.body(("user", "go"), ("assistant", "x"))
    requests = [Logged(responses_wire.read(*pair)) for pair in ((first, one), (first, other), (more, one))]
    assert [len(group) for group in conversations(requests)] == [2, 1]


def test_a_sub_agents_task_counts_as_what_its_user_said() -> None:
    task = {"type": "agent_message", "author": "/root", "content": [{"type": "text", "text": "Find it."}]}
    prompt = responses_wire.read({"input": [{"role": "user", "content": "context"}, task]}, {})
    assert Match(has_tools=None, first_user="Find it.").holds(prompt)


def test_the_server_reads_the_thread_from_the_headers() -> None:
    with ModelServer([]) as server:
        ask(server, RESPONSES.body(("user", "go")), RESPONSES.path)
        assert server.requests[0].prompt.thread == "a thread"


@on_each_wire
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "developer", RESULT]), st.text()), max_size=6),
    st.integers(0, 6),
)
def test_blocks_of_a_conversation_start_with_those_of_any_earlier_part(
    dialect: Dialect, messages: list[Message], cut: int
) -> None:
    whole = dialect.wire.read(dialect.body(*messages), {}).blocks
    earlier = dialect.wire.read(dialect.body(*messages[:cut]), {}).blocks
    assert whole[: len(earlier)] == earlier
