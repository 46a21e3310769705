"""
The single door to the store: what is kept of a tool call.

A `Call` holds whatever the agent sent, in memory. `digest_call` turns it into a `CallDigest`: flat values
that hold no content of files, no output and no secret. Nothing else of a call is stored, sent or logged.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from tokeneconomizer.domain.accounting.invocations import SKILL_TOOL, skill_named_in
from tokeneconomizer.domain.accounting.json_text import json_text, utf16_length
from tokeneconomizer.domain.command_templates import template_of
from tokeneconomizer.domain.masking import exit_words, failure_signature, mask_result
from tokeneconomizer.domain.redaction import redact_command, scrub
from tokeneconomizer.domain.secret_shapes import mask_known_secrets

# Names of tools are up to 64 characters by the models' interfaces, those of MCP tools somewhat longer.
TOOL_CHARACTERS_MAX = 100
CALL_ID_CHARACTERS_MAX = 100
# A base name may have 255 bytes; this many tell files apart for a reader.
TARGET_CHARACTERS_MAX = 120
# 64 bits: two of a million values share a hash with a chance of one in forty million.
HASH_BYTES = 8
# BLAKE2b takes no longer key.
_KEY_BYTES_MAX = 64
# Arguments so deep that they cannot be written down are not told apart.
_TOO_DEEP = "[nested too deeply]"

# An agent runs its tests again and again; a longer command is hardly typed twice.
COMMANDS_KEPT = 64
KEPT_COMMAND_CHARACTERS_MAX = 500
# At most 60 KB, for the calls of some steps.
LABELS_KEPT = 256

# Where one of these stands, white space may be part of a word.
_QUOTING = re.compile(r"[\"'\\]|<<")
_BLANKS = re.compile(r"[ \t]+")
_LINE_BREAKS = re.compile(r"[\s\ufffd]+")
_URL_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://(?:[^/?#]*@)?(\[[0-9A-Fa-f:.]{1,60}\]|[^/?#:\s]*)")


if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.domain.accounting.snapshot import RuntimeContextAccountingSnapshot


class CallKind(StrEnum):
    """What a tool does, whatever its agent calls it."""

    SHELL = "shell"
    EDIT = "edit"
    READ = "read"
    SEARCH = "search"
    WAIT = "wait"
    WEB = "web"
    AGENT = "agent"
    MCP = "mcp"
    OTHER = "other"


class CallStatus(StrEnum):
    """How a call ended; one that never ran was refused by the agent or by the user."""

    OK = "ok"
    FAILED = "failed"
    NEVER_RAN = "never_ran"


@dataclass(frozen=True, slots=True)
class Call:
    """
    One tool call as an agent reported it, in memory only.

    Attributes:
        call_id: the agent's own id.
        tool: the agent's name of the tool.
        kind: what the tool does.
        server: the MCP server's name, else empty.
        arguments: the tool's input as it came.
        command: the command line of a shell call, else empty.
        target: the path or URL that the call is about, else empty.
        edited: the new content of an edit, else empty.
        output: the result or the error's text.
        status: how it ended.
        exit_code: of a process, where known.
        interrupted: whether the user or a time limit ended it.
        background: whether it goes on after its result.
        duration_ms: where known.

    """

    call_id: str
    tool: str
    kind: CallKind
    server: str
    arguments: Mapping[str, object]
    command: str
    target: str
    edited: str
    output: str
    status: CallStatus
    exit_code: int | None
    interrupted: bool
    background: bool
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class CallDigest:
    """
    What is kept of a tool call: flat values, safe to store.

    Attributes:
        call_id: the agent's own id.
        tool: the agent's name of the tool.
        kind: what the tool does.
        server: the MCP server's name, else empty.
        target: the base name of a path, the host of a URL, or the name of the skill that the call loads.
        target_hash: of the whole path or URL.
        command: the redacted command line.
        command_template: its programs and flags.
        input_characters: UTF-16 units of the arguments as `JSON.stringify` prints them.
        arguments_hash: of the arguments, nothing masked: it tells calls apart.
        edit_hash: of an edit's new content, else empty.
        background: whether it goes on after its result.
        status: how it ended.
        exit_code: of a process, where known.
        output_characters: UTF-16 units of the output.
        result_hash: of the masked output.
        signature: a failure's words, else empty.
        signature_hash: of a failure's masked lines, else empty.
        interrupted: whether the user or a time limit ended it.
        duration_ms: where known.

    """

    call_id: str
    tool: str
    kind: CallKind
    server: str
    target: str
    target_hash: str
    command: str
    command_template: str
    input_characters: int
    arguments_hash: str
    edit_hash: str
    background: bool
    status: CallStatus
    exit_code: int | None
    output_characters: int
    result_hash: str
    signature: str
    signature_hash: str
    interrupted: bool
    duration_ms: int | None


class Hasher:
    """Hashes that only the holder of a home's key can make: a stored one cannot be searched for."""

    __slots__ = ("_empty",)

    def __init__(self, key: bytes) -> None:
        self._empty = blake2b(digest_size=HASH_BYTES, key=key[:_KEY_BYTES_MAX])

    def hash(self, text: str) -> str:
        """Hash a text, which may hold lone surrogates, to 16 hexadecimal digits."""
        state = self._empty.copy()
        state.update(text.encode("utf-8", "surrogatepass"))
        return state.hexdigest()


_COMPACT_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def canonical_json(arguments: Mapping[str, object]) -> str:
    """Write arguments as compact JSON with sorted keys: equal ones give equal text."""
    try:
        return _COMPACT_JSON.encode(dict(arguments))
    except (RecursionError, ValueError):
        return _TOO_DEEP


def target_name(target: str) -> str:
    """Keep what may be said of a path or URL: its base name, or its host."""
    url = _URL_HOST.match(target)
    if url:
        return _label(url[1].lower(), TARGET_CHARACTERS_MAX)
    name = re.split(r"[/\\]", target.rstrip("/\\"))[-1]
    return _label(name, TARGET_CHARACTERS_MAX)


DO_NOTHING = frozenset({"description", "timeout", "yield_time_ms", "max_output_tokens"})
"""Arguments of a shell call that an agent words or sizes anew when it runs the same again."""


def stored_call_id(call: Call) -> str:
    """Return the call's id as its digest has it."""
    return _label(call.call_id, CALL_ID_CHARACTERS_MAX)


def stored_snapshot(snapshot: RuntimeContextAccountingSnapshot) -> str:
    """Return a snapshot as it is stored: the names of tools, servers and skills in it are foreign words."""
    entries = {
        kind: replace(entry, source=_safe(entry.source), detail=_safe(entry.detail or "") or None)
        for kind, entry in snapshot.entries.items()
    }
    return replace(snapshot, entries=entries).to_text()


def _safe(words: str) -> str:
    return mask_known_secrets(scrub(words))


def digest_call(call: Call, hasher: Hasher, home: str, *, is_red: bool = False) -> CallDigest:
    """
    Digest one call.

    Args:
        call: as the agent reported it.
        hasher: makes keyed hashes.
        home: the user's home folder, which is never stored.
        is_red: whether its output tells of failed tests, whatever its status says: a pipe hides it.

    """
    arguments = canonical_json(call.arguments)
    command, template = _safe_command(call.command, home)
    failed = is_red or call.status is not CallStatus.OK
    words, lines = failure_signature(call.output) if failed else ("", "")
    if call.status is CallStatus.FAILED and not words and call.exit_code:
        words = exit_words(call.exit_code)
    return CallDigest(
        call_id=stored_call_id(call),
        tool=_label(call.tool, TOOL_CHARACTERS_MAX),
        kind=call.kind,
        server=_label(call.server, TOOL_CHARACTERS_MAX),
        target=_target_of(call),
        target_hash=hasher.hash(call.target) if call.target else "",
        command=command,
        command_template=template,
        input_characters=utf16_length(json_text(call.arguments)),
        arguments_hash=hasher.hash(_telling_arguments(call, arguments)),
        edit_hash=hasher.hash(call.edited) if call.kind is CallKind.EDIT else "",
        background=call.background,
        status=call.status,
        exit_code=call.exit_code,
        output_characters=utf16_length(call.output),
        result_hash=hasher.hash(mask_result(call.output)),
        signature=words,
        signature_hash=hasher.hash(lines) if lines else "",
        interrupted=call.interrupted,
        duration_ms=call.duration_ms,
    )


def _target_of(call: Call) -> str:
    if call.tool == SKILL_TOOL:
        return _label(skill_named_in(call.arguments), TARGET_CHARACTERS_MAX)
    return target_name(call.target)


def _safe_command(command: str, home: str) -> tuple[str, str]:
    """Return the redacted command line and its template."""
    if len(command) > KEPT_COMMAND_CHARACTERS_MAX:
        return _redacted(command, home)
    return _redacted_and_kept(command, home)


def _redacted(command: str, home: str) -> tuple[str, str]:
    safe = redact_command(command, home) if command else ""
    return safe, template_of(safe) if safe else ""


_redacted_and_kept = lru_cache(maxsize=COMMANDS_KEPT)(_redacted)


def _telling_arguments(call: Call, arguments: str) -> str:
    """Return the arguments that tell one call from another; outside quotes, blanks tell no commands apart."""
    if call.kind is not CallKind.SHELL:
        return arguments
    telling = {name: value for name, value in call.arguments.items() if name not in DO_NOTHING}
    if call.command and not _QUOTING.search(call.command):
        tidy = _BLANKS.sub(" ", call.command).strip()
        telling = {name: tidy if value == call.command else value for name, value in telling.items()}
    return canonical_json(telling)


def _label(name: str, characters_max: int) -> str:
    """Put a foreign name on one line, bounded, without control characters and secrets."""
    return _safe_label(name[: characters_max * 2])[:characters_max] if name else ""


# Names of tools come again with each call, ids of calls with their result and with their step.
@lru_cache(maxsize=LABELS_KEPT)
def _safe_label(name: str) -> str:
    return mask_known_secrets(_LINE_BREAKS.sub(" ", scrub(name)).strip())
