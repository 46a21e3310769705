"""
OpenAI's Responses: POST /v1/responses, which Codex speaks.

Its prompt cache works by itself: every block ends with a mark, so to say. In code mode Codex gives its tools
in namespaces, within an input item and not in `tools`.
"""

import time
from collections.abc import Iterator

from prompt_blocks import (
    ASSISTANT,
    SYSTEM_PROMPT,
    TOOL,
    TOOL_RESULT,
    USER,
    JsonObject,
    Prompt,
    PromptBlock,
    as_list,
    as_object,
    canonical_block,
    content_parts,
)
from wire import Answer, Headers, compact_json, named_event

THREAD_HEADER = "thread-id"  # a sub-agent of Codex has its own, beside the cache key of its root
SYSTEM_ROLES = {"system", "developer"}
NO_PART_OF_THE_PROMPT = {"id", "status"}  # of an item: given anew when a session is resumed
LENGTH_STOP = "max_tokens"


def read(body: JsonObject, headers: Headers) -> Prompt:
    """Return the request in the order of the prompt cache."""
    items = [as_object(item) for item in _items(body)]
    added = [
        tool
        for item in items
        if item.get("type") == "additional_tools"
        for tool in as_list(item.get("tools"))
    ]
    definitions = as_list(body.get("tools"))
    blocks = [
        *(_block(TOOL, tool) for tool in definitions if not as_object(tool).get("defer_loading")),
        *(_block(SYSTEM_PROMPT, part) for part in _parts(body.get("instructions"))),
        *_item_blocks(items),
    ]
    names = tuple(name for tool in (*definitions, *added) for name in _names(as_object(tool)))
    return Prompt(body, tuple(blocks), names, headers.get(THREAD_HEADER, ""))


def write(answer: Answer) -> JsonObject:
    """Return the answer as one response; each call gets an id that is unique in the server."""
    cut = answer.reply.stop_reason == LENGTH_STOP
    output = [_item(f"{answer.number:04d}_{index}", block) for index, block in enumerate(answer.reply.blocks)]
    return {
        "id": f"resp_{answer.number:04d}",
        "object": "response",
        "created_at": int(time.time()),
        "model": answer.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": output,
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": answer.usage["cache_read_input_tokens"]},
            "output_tokens": answer.usage["output_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + answer.usage["output_tokens"],
        },
    }


def stream(whole: JsonObject) -> Iterator[str]:
    """Yield the response as server-sent events."""
    for number, event in enumerate(_events(whole)):
        yield named_event({**event, "sequence_number": number})


def _events(response: JsonObject) -> Iterator[JsonObject]:
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, value in enumerate(as_list(response["output"])):
        item = as_object(value)
        at: JsonObject = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            yield from _text_events(item, at)
        else:
            kind, key = _input_of(item)
            opening = {**item, "status": "in_progress", key: ""}
            yield {"type": "response.output_item.added", "output_index": index, "item": opening}
            yield {"type": f"response.{kind}.delta", **at, "delta": item[key]}
            yield {"type": f"response.{kind}.done", **at, key: item[key]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _text_events(item: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    opening = {**item, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": at["output_index"], "item": opening}
    for index, value in enumerate(as_list(item["content"])):
        part = as_object(value)
        here = {**at, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**part, "text": ""}}
        yield {"type": "response.output_text.delta", **here, "delta": part["text"]}
        yield {"type": "response.output_text.done", **here, "text": part["text"]}
        yield {"type": "response.content_part.done", **here, "part": part}


def _input_of(item: JsonObject) -> tuple[str, str]:
    """Return how the events of a call's input are named, and where the call has its input."""
    if item["type"] == "custom_tool_call":
        return "custom_tool_call_input", "input"
    return "function_call_arguments", "arguments"


def _item(number: str, block: JsonObject) -> JsonObject:
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"], "annotations": []}]
        done: JsonObject = {"type": "message", "id": f"msg_{number}", "role": ASSISTANT, "content": content}
    elif isinstance(block["input"], str):
        done = {"type": "custom_tool_call", "id": f"ctc_{number}", "input": block["input"]}
    else:
        done = {"type": "function_call", "id": f"fc_{number}", "arguments": compact_json(block["input"])}
    called: JsonObject = {"call_id": f"call_{number}"} if block["type"] == "tool_use" else {}
    named: JsonObject = {name: block[name] for name in ("name", "namespace") if name in block}
    return {**done, **called, **named, "status": "completed"}


def _names(tool: JsonObject) -> Iterator[str]:
    if tool.get("type") == "namespace":
        for inner in as_list(tool.get("tools")):
            yield from _names(as_object(inner))
    else:
        yield str(tool.get("name") or tool.get("type"))  # a tool of the service has no name


def _items(body: JsonObject) -> list[object]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return as_list(given)


def _item_blocks(items: list[JsonObject]) -> Iterator[PromptBlock]:
    leading = True
    for item in items:
        kind = str(item.get("type", "message"))
        if kind == "additional_tools":
            yield _block(TOOL, _plain(item))
            continue
        if kind != "message":
            leading = False
            yield _block(_role(kind), _plain(item))
            continue
        role = str(item.get("role"))
        leading = leading and role in SYSTEM_ROLES
        for part in _parts(item.get("content")):
            yield _block(SYSTEM_PROMPT if leading else role, part)


def _role(kind: str) -> str:
    if kind == "agent_message":  # another agent's: a sub-agent is given its task so
        return USER
    if kind.endswith("_output"):
        return TOOL_RESULT
    return ASSISTANT if kind.endswith("_call") or kind == "reasoning" else kind


def _plain(item: JsonObject) -> JsonObject:
    return {name: value for name, value in item.items() if name not in NO_PART_OF_THE_PROMPT}


def _parts(content: object) -> list[object]:
    """Return a content's parts; the kind of text (input_text, output_text) follows from the role."""
    return [
        {"type": "text", "text": part["text"]} if isinstance(part, dict) and "text" in part else part
        for part in content_parts(content)
    ]


def _block(role: str, value: object) -> PromptBlock:
    return canonical_block(role, value, cache_mark=True)
