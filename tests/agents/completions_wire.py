"""
OpenAI's Chat Completions: POST /v1/chat/completions; Copilot with an own provider, Pi and opencode speak it.

Its prompt cache works by itself: every block ends with a mark, so to say.
"""

import json
import time
from collections.abc import Iterator

from prompt_blocks import (
    SYSTEM_PROMPT,
    TOOL,
    TOOL_RESULT,
    JsonObject,
    Prompt,
    PromptBlock,
    as_list,
    as_object,
    canonical_block,
    content_parts,
)
from wire import Answer, Headers, compact_json, nameless_event

SYSTEM_ROLES = {"system", "developer"}
FINISH_REASONS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
NOTE_PREFIX = "__"  # Copilot 1.0.102 sends `__copilotMessageSource` after a resume; no model is shown it
KEYS_OF_THEIR_OWN = {"role", "content", "tool_calls"}  # of a message: each is told by its blocks


def read(body: JsonObject, headers: Headers) -> Prompt:  # noqa: ARG001  # another wire needs them
    """Return the request in the order of the prompt cache."""
    definitions = [as_object(tool) for tool in as_list(body.get("tools"))]
    inner = [as_object(tool.get(str(tool.get("type")), {})) for tool in definitions]
    names = tuple(str(tool.get("name")) for tool in inner)
    blocks = [_block(TOOL, tool) for tool in definitions]
    return Prompt(body, (*blocks, *_message_blocks(body)), names)


def write(answer: Answer) -> JsonObject:
    """Return the answer as one completion; each call gets an id that is unique in the server."""
    text = "".join(str(block["text"]) for block in answer.reply.blocks if block["type"] == "text")
    calls = [
        _call(f"call_{answer.number:04d}_{index}", block)
        for index, block in enumerate(answer.reply.blocks)
        if block["type"] == "tool_use"
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    stop = answer.reply.stop_reason or ("tool_use" if calls else "end_turn")
    return {
        "id": f"chatcmpl-{answer.number:04d}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": FINISH_REASONS.get(stop, stop)}],
        "usage": {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.usage["output_tokens"],
            "total_tokens": answer.input_tokens + answer.usage["output_tokens"],
            "prompt_tokens_details": {"cached_tokens": answer.usage["cache_read_input_tokens"]},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def stream(whole: JsonObject) -> Iterator[str]:
    """Yield the completion in chunks: text, each call's head and input, the reason to stop, the usage."""
    head = {name: whole[name] for name in ("id", "created", "model")}
    choice = as_object(as_list(whole["choices"])[0])
    for delta, finish in (*_deltas(as_object(choice["message"])), ({}, choice["finish_reason"])):
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        yield _chunk(head, choices=choices)
    yield _chunk(head, choices=[], usage=whole["usage"])
    yield nameless_event("[DONE]")


def _deltas(message: JsonObject) -> Iterator[tuple[JsonObject, None]]:
    yield {"role": "assistant", "content": ""}, None
    if message["content"]:
        yield {"content": message["content"]}, None
    for index, item in enumerate(as_list(message.get("tool_calls"))):
        call = as_object(item)
        kind = str(call["type"])
        tool = as_object(call[kind])
        (text_key,) = tool.keys() - {"name"}
        yield {"tool_calls": [{"index": index, **call, kind: {**tool, text_key: ""}}]}, None
        yield {"tool_calls": [{"index": index, kind: {text_key: tool[text_key]}}]}, None


def _chunk(head: JsonObject, **more: object) -> str:
    return nameless_event(json.dumps({**head, "object": "chat.completion.chunk", **more}))


def _call(identifier: str, block: JsonObject) -> JsonObject:
    if isinstance(block["input"], str):
        return {
            "id": identifier,
            "type": "custom",
            "custom": {"name": block["name"], "input": block["input"]},
        }
    function = {"name": block["name"], "arguments": compact_json(block["input"])}
    return {"id": identifier, "type": "function", "function": function}


def _message_blocks(body: JsonObject) -> Iterator[PromptBlock]:
    leading = True
    for item in as_list(body.get("messages")):
        message = as_object(item)
        role = str(message.get("role"))
        leading = leading and role in SYSTEM_ROLES
        known = SYSTEM_PROMPT if leading else {"tool": TOOL_RESULT}.get(role, role)
        for part in _parts(message):
            yield _block(known, part)


def _parts(message: JsonObject) -> Iterator[object]:
    """Yield what tells a message, in parts; that a key is null says nothing."""
    rest = {
        name: value
        for name, value in message.items()
        if name not in KEYS_OF_THEIR_OWN and not name.startswith(NOTE_PREFIX) and value is not None
    }
    if rest:
        yield rest
    if message.get("content") != "":
        yield from content_parts(message.get("content"))
    yield from as_list(message.get("tool_calls"))


def _block(role: str, value: object) -> PromptBlock:
    return canonical_block(role, value, cache_mark=True)
