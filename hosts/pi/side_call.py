"""
Asking through Pi: one request, no tools, no extensions, no files, no session.

Measured on 1.6.0: the request held no tools, no extension was loaded and nothing was written; the user's own
model and login were used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.hosts.fields import mapping, number, objects, text
from tokeneconomizer.hosts.pi.installation import BINARY
from tokeneconomizer.hosts.side_call import NO_LEFTOVERS, Answer, CommandLine, printed_objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.hosts.log_format import AgentHomes
    from tokeneconomizer.hosts.side_call import Leftovers, Question

FLAGS = (
    "--print",
    *("--mode", "json"),
    "--no-extensions",
    "--no-session",
    "--no-tools",
    "--no-skills",
    "--no-context-files",
    "--no-prompt-templates",
)

FAILED = frozenset({"error", "aborted"})
"""Why a reply ended that is no answer."""

ENVIRONMENT = {"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
"""One request is asked for, and nothing beside it."""


def command_line(question: Question) -> CommandLine:
    """Return how the question is asked."""
    arguments = (*FLAGS, "--system-prompt", question.instructions)
    return CommandLine(BINARY, arguments, question.text.encode(), ENVIRONMENT)


def answer_in(output: bytes) -> Answer | None:
    """Return the answer in the last reply among the events that were printed."""
    replies = [message for event in printed_objects(output) if (message := _reply_in(event))]
    if not replies:
        return None
    reply = replies[-1]
    said = "".join(text(block, "text") for block in objects(reply, "content"))
    is_answer = text(reply, "stopReason") not in FAILED
    cost = number(mapping(mapping(reply, "usage"), "cost"), "total")
    return Answer(said if is_answer else "", text(reply, "model"), cost)


def _reply_in(event: Mapping[str, object]) -> Mapping[str, object]:
    if event.get("type") != "message_end":
        return {}
    message = mapping(event, "message")
    return message if text(message, "role") == "assistant" else {}


def leftovers(_line: CommandLine, _output: bytes, _homes: AgentHomes) -> Leftovers:
    """Return that nothing is kept."""
    return NO_LEFTOVERS
