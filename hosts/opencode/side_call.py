"""
Asking through opencode: one request without tools, from an agent of our own that exists for this call alone.

Measured on 1.18.33: `--pure` loads no plugin, a title that is given saves the request for one, stdin is the
prompt. The session is kept, so it is deleted afterwards; its id is in every line that is printed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.fields import mapping, number, text
from tokeneconomizer.hosts.opencode.installation import BINARY
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, CommandLine, Leftovers, printed_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.hosts.side_call import Question

AGENT = "tokeneconomizer"

FLAGS = ("run", "--pure", "--title", AGENT, "--agent", AGENT, "--format", "json")

ENVIRONMENT = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
"""One request is asked for, and nothing beside it."""

CONFIGURATION_VARIABLE = "OPENCODE_CONFIG_CONTENT"
"""Counts above all configurations of the user's."""

SESSION_ID_PREFIX = "ses_"
"""What is deleted has such an id, and no other word of the output is ever an argument."""


def command_line(question: Question) -> CommandLine:
    """Return how the question is asked."""
    agent = {"mode": "primary", "prompt": question.instructions, "tools": {"*": False}}
    configuration = {
        "agent": {AGENT: agent},
        "permission": {"*": "deny"},
        "share": "disabled",
        "snapshot": False,
    }
    environment = {**ENVIRONMENT, CONFIGURATION_VARIABLE: json.dumps(configuration)}
    return CommandLine(BINARY, FLAGS, question.text.encode(), environment)


def answer_in(output: bytes) -> Answer | None:
    """Return the answer in the events that were printed; where the model failed it has no text."""
    events = list(_events(output))
    if not events:
        return None
    texts = [text(mapping(event, "part"), "text") for event in events if text(event, "type") == "text"]
    costs = [
        number(mapping(event, "part"), "cost") for event in events if text(event, "type") == "step_finish"
    ]
    return Answer(text="\n".join(texts), model="", cost_usd=costs[-1] if costs else None)


def leftovers(_line: CommandLine, output: bytes, _homes: AgentHomes) -> Leftovers:
    """Return the session that opencode keeps."""
    ids = (text(event, "sessionID") for event in _events(output))
    session_id = next((one for one in ids if one.startswith(SESSION_ID_PREFIX) and one.isascii()), "")
    return Leftovers(arguments=("session", "delete", session_id)) if session_id else NO_LEFTOVERS


def _events(output: bytes) -> Iterator[Mapping[str, object]]:
    return (event for event in printed_objects(output) if text(event, "sessionID"))
