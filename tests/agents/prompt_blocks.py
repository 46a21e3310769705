"""
Requests to a model in the order of the prompt cache, and the comparison of one with the next.

The cache keeps a prefix of tools, then system prompt, then messages. A change that comes late leaves it
whole; a change in front throws everything behind it away. So "nothing earlier was touched" is: the blocks of
one request are the first blocks of the next. Each wire (`messages_wire`, `responses_wire`,
`completions_wire`) turns its requests into a `Prompt`; what is here holds for all of them.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

JsonObject = dict[str, object]

EXCERPT_CHARACTERS = 160  # of each side of a difference: enough to see what it is about

TOOL, SYSTEM_PROMPT, USER, ASSISTANT = "tool", "system_prompt", "user", "assistant"
TOOL_RESULT = "tool_result"  # where it is a message of its own; in the Messages API the user gives it


@dataclass(frozen=True)
class PromptBlock:
    """One block: a role as above, or that of a message; its canonical JSON; whether a mark ends there."""

    role: str
    text: str
    cache_mark: bool


@dataclass(frozen=True)
class Prompt:
    """A request as its wire reads it."""

    body: JsonObject
    blocks: tuple[PromptBlock, ...]
    tools: tuple[str, ...]  # the names that the model may call, deferred ones too
    thread: str = ""  # where the request says which conversation it is of

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.body.get("model"))

    @property
    def system(self) -> str:
        """The JSON of the system prompt."""
        return _text(block for block in self.blocks if block.role == SYSTEM_PROMPT)

    @property
    def first_user(self) -> str:
        """The JSON of what the user said before the model's first answer: it tells a sub-agent's request."""
        before = itertools.takewhile(lambda block: block.role != ASSISTANT, self.blocks)
        return _text(block for block in before if block.role == USER)

    @property
    def last_user(self) -> str:
        """The JSON of what came since the model's last answer: the newest prompt or the results of tools."""
        since = itertools.takewhile(lambda block: block.role != ASSISTANT, reversed(self.blocks))
        return _text(block for block in reversed(list(since)) if block.role in {USER, TOOL_RESULT})


class HasPrompt(Protocol):
    """A logged request."""

    @property
    def prompt(self) -> Prompt:
        """The request as its wire read it."""
        ...


Request = TypeVar("Request", bound=HasPrompt)


def as_object(value: object) -> JsonObject:
    """Return the JSON object that the value should be, or raise ValueError."""
    if not isinstance(value, dict):
        message = f"expected a JSON object, got {type(value).__name__}"
        raise ValueError(message)  # noqa: TRY004  # bad data, not a wrong call
    return value


def as_list(value: object) -> list[object]:
    """Return the JSON array that the value should be; absent is empty."""
    return value if isinstance(value, list) else []


def content_parts(content: object) -> list[object]:
    """Return a content's parts: a string is one text part once and a list of it the next time."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return as_list(content)


def canonical_block(role: str, value: object, *, cache_mark: bool) -> PromptBlock:
    """Return the block of a value; marks move along with the conversation and are no part of the text."""
    return PromptBlock(role, json.dumps(without_marks(value), ensure_ascii=False, sort_keys=True), cache_mark)


def without_marks(value: object) -> object:
    """Return the value without its `cache_control`."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [without_marks(item) for item in value]
    return value


def new_text(previous: HasPrompt, following: HasPrompt) -> str:
    """Return what the following request holds behind the blocks that it shares with the previous one."""
    shared = shared_blocks(previous, following)
    return "\n".join(f"{block.role}: {block.text}" for block in following.prompt.blocks[shared:])


def shared_blocks(previous: HasPrompt, following: HasPrompt) -> int:
    """Return how many leading blocks both have."""
    pairs = zip(previous.prompt.blocks, following.prompt.blocks, strict=False)
    same = 0
    for old, new in pairs:
        if (old.role, old.text) != (new.role, new.text):
            break
        same += 1
    return same


def conversations(requests: Sequence[Request]) -> list[list[Request]]:
    """Group the requests by conversation, in order: a sub-agent's first message is not its parent's."""
    groups: dict[tuple[str, str, str], list[Request]] = {}
    for request in requests:
        prompt = request.prompt
        groups.setdefault((prompt.model, prompt.thread, _first_text(prompt)), []).append(request)
    return list(groups.values())


def first_prefix_difference(requests: Sequence[HasPrompt]) -> str | None:
    """Say which request does not begin with all blocks of the one before, and where; None if none."""
    for number, (previous, following) in enumerate(itertools.pairwise(requests), start=1):
        shared = shared_blocks(previous, following)
        if shared < len(previous.prompt.blocks):
            old = previous.prompt.blocks[shared]
            new = following.prompt.blocks[shared] if shared < len(following.prompt.blocks) else None
            was = f"{old.role}: {old.text[:EXCERPT_CHARACTERS]}"
            now = f"{new.role}: {new.text[:EXCERPT_CHARACTERS]}" if new else "nothing"
            return f"request {number + 1} of {len(requests)}, block {shared}: was {was!r}, is {now!r}"
    return None


def messages_prefix_identical(requests: Sequence[HasPrompt]) -> bool:
    """Say whether every request of one conversation begins with all blocks of the one before."""
    return first_prefix_difference(requests) is None


def _first_text(prompt: Prompt) -> str:
    messages = itertools.dropwhile(lambda block: block.role in {TOOL, SYSTEM_PROMPT}, prompt.blocks)
    return _text(itertools.takewhile(lambda block: block.role == USER, messages))


def _text(blocks: Iterable[PromptBlock]) -> str:
    return "\n".join(block.text for block in blocks)
