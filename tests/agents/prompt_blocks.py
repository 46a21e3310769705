"""
Requests to the Messages API in the order of the prompt cache, and the comparison of one with the next.

The cache keeps a prefix of tools, then system prompt, then messages. A change that comes late leaves it
whole; a change in front throws everything behind it away. So "nothing earlier was touched" is: the blocks of
one request are the first blocks of the next.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

JsonObject = dict[str, object]

EXCERPT_CHARACTERS = 160  # of each side of a difference: enough to see what it is about


class HasBlocks(Protocol):
    """A logged request: its body and its blocks."""

    @property
    def body(self) -> JsonObject:
        """The parsed request."""
        ...

    @property
    def blocks(self) -> "tuple[PromptBlock, ...]":
        """The request in the order of the cache."""
        ...


@dataclass(frozen=True)
class PromptBlock:
    """One block: tool, system_prompt or a message's role; its canonical JSON; whether a mark ends there."""

    role: str
    text: str
    cache_mark: bool


def as_object(value: object) -> JsonObject:
    """Return the JSON object that the value should be, or raise ValueError."""
    if not isinstance(value, dict):
        message = f"expected a JSON object, got {type(value).__name__}"
        raise ValueError(message)  # noqa: TRY004  # bad data, not a wrong call
    return value


def as_list(value: object) -> list[object]:
    """Return the JSON array that the value should be; absent is empty."""
    return value if isinstance(value, list) else []


def prompt_blocks(body: JsonObject) -> Iterator[PromptBlock]:
    """
    Yield the blocks of a request in cache order, normalised.

    Marks (`cache_control`) move along with the conversation and are no part of the text; a content may be a
    string once and a list of one text block the next time; deferred tools are no part of the prefix.
    """
    for tool in as_list(body.get("tools")):
        if not as_object(tool).get("defer_loading"):
            yield _block("tool", tool)
    for block in _content(body.get("system")):
        yield _block("system_prompt", block)
    for message in as_list(body.get("messages")):
        for block in _content(as_object(message).get("content")):
            yield _block(str(as_object(message).get("role")), block)


def first_user_text(body: JsonObject) -> str:
    """Return the JSON of the first user message: what tells a sub-agent's conversation from its parent's."""
    return next(_user_texts(as_list(body.get("messages"))), "")


def last_user_text(body: JsonObject) -> str:
    """Return the JSON of the last user message: the newest prompt or tool result."""
    return next(_user_texts(list(reversed(as_list(body.get("messages"))))), "")


def new_text(previous: HasBlocks, following: HasBlocks) -> str:
    """Return what the following request holds behind the blocks that it shares with the previous one."""
    shared = shared_blocks(previous, following)
    return "\n".join(f"{block.role}: {block.text}" for block in following.blocks[shared:])


def shared_blocks(previous: HasBlocks, following: HasBlocks) -> int:
    """Return how many leading blocks both have."""
    pairs = zip(previous.blocks, following.blocks, strict=False)
    same = 0
    for old, new in pairs:
        if (old.role, old.text) != (new.role, new.text):
            break
        same += 1
    return same


def conversations(requests: Sequence[HasBlocks]) -> list[list[HasBlocks]]:
    """Group the requests by conversation, in order: a sub-agent's first message is not its parent's."""
    groups: dict[tuple[object, str], list[HasBlocks]] = {}
    for request in requests:
        groups.setdefault((request.body.get("model"), _first_text(request)), []).append(request)
    return list(groups.values())


def first_prefix_difference(requests: Sequence[HasBlocks]) -> str | None:
    """Say which request does not begin with all blocks of the one before, and where; None if none."""
    for number, (previous, following) in enumerate(itertools.pairwise(requests), start=1):
        shared = shared_blocks(previous, following)
        if shared < len(previous.blocks):
            old = previous.blocks[shared]
            new = following.blocks[shared] if shared < len(following.blocks) else None
            was = f"{old.role}: {old.text[:EXCERPT_CHARACTERS]}"
            now = f"{new.role}: {new.text[:EXCERPT_CHARACTERS]}" if new else "nothing"
            return f"request {number + 1} of {len(requests)}, block {shared}: was {was!r}, is {now!r}"
    return None


def messages_prefix_identical(requests: Sequence[HasBlocks]) -> bool:
    """Say whether every request of one conversation begins with all blocks of the one before."""
    return first_prefix_difference(requests) is None


def _first_text(request: HasBlocks) -> str:
    messages = itertools.dropwhile(lambda block: block.role in {"tool", "system_prompt"}, request.blocks)
    return "\n".join(
        block.text for block in itertools.takewhile(lambda block: block.role == "user", messages)
    )


def _user_texts(messages: list[object]) -> Iterator[str]:
    for message in messages:
        if as_object(message).get("role") == "user":
            yield json.dumps(as_object(message).get("content"), ensure_ascii=False)


def _content(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return as_list(content)


def _block(role: str, block: object) -> PromptBlock:
    plain = _without_marks(block)
    if isinstance(plain, dict) and plain.get("type") == "tool_result":
        plain = {**plain, "content": _without_marks(_content(plain.get("content")))}
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True)
    return PromptBlock(role, text, isinstance(block, dict) and "cache_control" in block)


def _without_marks(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_marks(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return value
