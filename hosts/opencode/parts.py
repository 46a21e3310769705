"""What the parts of a message of opencode say, in logs and hooks: a prompt's text, how a call ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokeneconomizer.domain.digests import CallKind, CallStatus
from tokeneconomizer.hosts.fields import flag, mapping, text, whole_number
from tokeneconomizer.hosts.opencode.tools import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEVER_RAN_TEXTS = (
    "The user rejected permission to use this specific tool call",
    "The user has specified a rule which prevents you from using this specific tool call",
    "The user dismissed this question",
    "tool was called with invalid arguments",
)
"""In the error of a call that was refused before it ran."""

CUT_OFF_TEXTS = ("exceeding timeout", "User aborted the command")
"""In the note at the end of a command's output; opencode reports the call as completed, without exit code."""

NOTE_CHARACTERS_MAX = 400
"""The note is one sentence, the longest seen has 240."""

INVALID_TOOL = "invalid"
"""The tool that opencode runs instead when the model's call cannot be read."""


def prompt_in(parts: Iterable[Mapping[str, object]]) -> tuple[str, bool]:
    """Return what the user wrote in the parts of a message, and whether a file goes with it."""
    texts, has_file = [], False
    for part in parts:
        kind = text(part, "type")
        if kind == "text" and not flag(part, "synthetic") and not flag(part, "ignored"):
            texts.append(text(part, "text"))
        elif kind == "subtask":
            texts.append(text(part, "prompt"))
        has_file = has_file or kind == "file"
    return "\n".join(texts), has_file


def completed(tool: str, output: str, metadata: Mapping[str, object]) -> tuple[CallStatus, int | None, bool]:
    """Return status, exit code and whether it was cut off: a command that failed is completed, too."""
    if tool == INVALID_TOOL:
        return CallStatus.NEVER_RAN, None, False
    exit_code = whole_number(metadata, "exit")
    if exit_code is not None:
        return CallStatus.FAILED if exit_code else CallStatus.OK, exit_code, False
    if kind_of(tool) is not CallKind.SHELL or "exit" not in metadata:
        return CallStatus.OK, None, False
    return CallStatus.FAILED, None, any(note in output[-NOTE_CHARACTERS_MAX:] for note in CUT_OFF_TEXTS)


def failed(error: str, state: Mapping[str, object]) -> tuple[CallStatus, bool]:
    """Return status and whether it was cut off: while its arguments still came, it never ran."""
    interrupted = flag(mapping(state, "metadata"), "interrupted") is True or error == "Tool execution aborted"
    never_ran = any(refusal in error for refusal in NEVER_RAN_TEXTS)
    if never_ran or (interrupted and not mapping(state, "input")):
        return CallStatus.NEVER_RAN, interrupted
    return CallStatus.FAILED, interrupted
