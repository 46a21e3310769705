"""The script of the model server: what to answer to which request, as data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from prompt_blocks import JsonObject, as_list, as_object, first_user_text, last_user_text


def say(text: str) -> JsonObject:
    """Return a text block of an assistant's message."""
    return {"type": "text", "text": text}


def call(name: str, **tool_input: object) -> JsonObject:
    """Return a tool_use block; the server gives it an id when it is sent."""
    return {"type": "tool_use", "name": name, "input": tool_input}


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

    def holds(self, body: JsonObject) -> bool:
        """Say whether a request's body meets every condition."""
        tools = [as_object(tool).get("name") for tool in as_list(body.get("tools"))]
        if self.has_tools is not None and bool(tools) is not self.has_tools:
            return False
        if self.tool is not None and self.tool not in tools:
            return False
        wanted_in = (
            (self.model, str(body.get("model"))),
            (self.system, json.dumps(body.get("system"), ensure_ascii=False)),
            (self.first_user, first_user_text(body)),
            (self.last_user, last_user_text(body)),
            (self.anywhere, json.dumps(body, ensure_ascii=False)),
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
    usage: Mapping[str, object] = field(default_factory=dict)


FALLBACK = Reply(blocks=(say("OK."),), match=Match(has_tools=None), times=None)
OVERLOADED = Reply(
    match=Match(has_tools=None),
    times=None,
    status=529,
    error_type="overloaded_error",
    error_message="Overloaded",
    headers={"x-should-retry": "false"},  # else the agent tries again for minutes
)
