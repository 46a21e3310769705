"""What the server knows of a wire: how a request is read and how an answer is written, and no more."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from prompt_blocks import JsonObject, Prompt
from replies import Reply

CHARACTERS_PER_TOKEN = 4  # a rough tokenizer is enough: usage only has to be plausible and monotonic

Headers = Mapping[str, str]  # names in lower case
Usage = Mapping[str, int]
"""Tokens, kept apart on every wire as the Messages API does: `input_tokens` is what was neither read from the
cache nor written to it, then `cache_read_input_tokens`, `cache_creation_input_tokens`, `output_tokens`."""


@dataclass(frozen=True)
class Answer:
    """A reply on its way to the request with this number."""

    number: int
    model: str
    reply: Reply
    usage: Usage

    @property
    def calls_tools(self) -> bool:
        """Whether a tool is called."""
        return any(block["type"] == "tool_use" for block in self.reply.blocks)

    @property
    def input_tokens(self) -> int:
        """All of the prompt, cached or not."""
        parts = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        return sum(self.usage[part] for part in parts)


class Wire(Protocol):
    """One API of a model; a module of this folder."""

    def read(self, body: JsonObject, headers: Headers) -> Prompt:
        """Return the request in the order of the prompt cache."""
        ...

    def write(self, answer: Answer) -> JsonObject:
        """Return the answer as it is sent in one piece."""
        ...

    def stream(self, whole: JsonObject) -> Iterator[str]:
        """Yield the same answer as server-sent events."""
        ...


def compact_json(value: object) -> str:
    """Return JSON without blanks, as the models write it: an agent that writes it anew changes nothing."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def named_event(event: JsonObject) -> str:
    """Return a server-sent event that is named as its type."""
    return f"event: {event['type']}\n{nameless_event(json.dumps(event))}"


def nameless_event(data: str) -> str:
    """Return a server-sent event without a name."""
    return f"data: {data}\n\n"
