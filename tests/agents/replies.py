"""The script of the model server: what to answer to which request, as data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from prompt_blocks import JsonObject, Prompt


def say(text: str) -> JsonObject:
    """Return a text block of an assistant's message."""
    return {"type": "text", "text": text}


def call(name: str, **tool_input: object) -> JsonObject:
    """Return a tool_use block; the server gives it an id when it is sent."""
    return {"type": "tool_use", "name": name, "input": tool_input}


def custom_call(name: str, text: str) -> JsonObject:
    """Return a call of a tool that takes raw text and no JSON: Codex's `exec` and `apply_patch`."""
    return {"type": "tool_use", "name": name, "input": text}


def namespaced_call(namespace: str, name: str, **tool_input: object) -> JsonObject:
    """Return a call of a tool in a namespace, as the Responses wire has them."""
    return {**call(name, **tool_input), "namespace": namespace}


@dataclass(frozen=True)
class Match:
    """Conditions on a request; all given must hold. Default: the agent's loop, which carries tools."""

    has_tools: bool | None = True
    tool: str | None = None
    model: str | None = None
    system: str | None = None
    first_user: str | None = None
    last_user: str | None = None
    anywhere: str | None = None

    def holds(self, prompt: Prompt) -> bool:
        """Say whether a request meets every condition."""
        if self.has_tools is not None and bool(prompt.tools) is not self.has_tools:
            return False
        if self.tool is not None and self.tool not in prompt.tools:
            return False
        wanted_in = (
            (self.model, prompt.model),
            (self.system, prompt.system),
            (self.first_user, prompt.first_user),
            (self.last_user, prompt.last_user),
            (self.anywhere, json.dumps(prompt.body, ensure_ascii=False)),
        )
        return all(wanted is None or wanted in text for wanted, text in wanted_in)


@dataclass(frozen=True)
class Reply:
    """What to answer, to which request and how often. With `status` other than 200 it is an API error."""

    blocks: Sequence[JsonObject] = ()
    match: Match = field(default_factory=Match)
    times: int | None = 1  # None: for ever
    status: int = HTTPStatus.OK
    error_type: str = "api_error"
    error_message: str = "scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    stop_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)  # by the names in `wire.Usage`, on every wire


FALLBACK = Reply(blocks=(say("OK."),), match=Match(has_tools=None), times=None)
OVERLOADED = Reply(
    match=Match(has_tools=None),
    times=None,
    status=529,
    error_type="overloaded_error",
    error_message="Overloaded",
    headers={"x-should-retry": "false"},  # else the agent tries again for minutes
)
