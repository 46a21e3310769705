"""The Anthropic Messages API: POST /v1/messages."""

import json
from collections.abc import Iterator

from prompt_blocks import (
    SYSTEM_PROMPT,
    TOOL,
    JsonObject,
    Prompt,
    PromptBlock,
    as_list,
    as_object,
    canonical_block,
    content_parts,
)
from wire import Answer, Headers, named_event


def read(body: JsonObject, headers: Headers) -> Prompt:  # noqa: ARG001  # another wire needs them
    """Return the request in the order of the prompt cache."""
    tools = tuple(str(as_object(tool).get("name")) for tool in as_list(body.get("tools")))
    return Prompt(body, tuple(prompt_blocks(body)), tools)


def prompt_blocks(body: JsonObject) -> Iterator[PromptBlock]:
    """Yield the blocks of a request in cache order; deferred tools are no part of the prefix."""
    for tool in as_list(body.get("tools")):
        if not as_object(tool).get("defer_loading"):
            yield _block(TOOL, tool)
    for block in content_parts(body.get("system")):
        yield _block(SYSTEM_PROMPT, block)
    for message in as_list(body.get("messages")):
        for block in content_parts(as_object(message).get("content")):
            yield _block(str(as_object(message).get("role")), block)


def write(answer: Answer) -> JsonObject:
    """Return the answer as one message; each call gets an id that is unique in the server."""
    content: list[JsonObject] = []
    for index, block in enumerate(answer.reply.blocks):
        numbered = {"id": f"toolu_{answer.number:04d}_{index}"} if block["type"] == "tool_use" else {}
        content.append({**block, **numbered})
    written = answer.usage["cache_creation_input_tokens"]
    return {
        "id": f"msg_{answer.number:04d}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": answer.reply.stop_reason or ("tool_use" if answer.calls_tools else "end_turn"),
        "stop_sequence": None,
        "usage": {
            **answer.usage,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        },
    }


def stream(whole: JsonObject) -> Iterator[str]:
    """Yield the message as server-sent events."""
    for event in _events(whole):
        yield named_event(event)


def _events(message: JsonObject) -> Iterator[JsonObject]:
    start_usage = {**as_object(message["usage"]), "output_tokens": 1}
    start = {**message, "content": [], "stop_reason": None, "usage": start_usage}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, item in enumerate(as_list(message["content"])):
        block = as_object(item)
        if block["type"] == "tool_use":
            opening: JsonObject = {**block, "input": {}}
            delta: JsonObject = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            opening = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": message["usage"],
    }
    yield {"type": "message_stop"}


def _block(role: str, block: object) -> PromptBlock:
    marked = isinstance(block, dict) and "cache_control" in block
    if isinstance(block, dict) and block.get("type") == "tool_result":
        block = {**block, "content": content_parts(block.get("content"))}
    return canonical_block(role, block, cache_mark=marked)
