"""
What a rollout tells besides tokens.

A line is a header, a turn's settings, an item of the conversation with the model, or an event. Prompts are
read from events, as the conversation has other texts in the user's name: the surroundings, instructions,
notices. Only the oldest logs, lines without a wrapper, have no events.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from tokeneconomizer.domain.commands import PromptKind
from tokeneconomizer.hosts.codex import tools
from tokeneconomizer.hosts.codex.log_calls import CallReader
from tokeneconomizer.hosts.codex.log_catalogue import removed_in, tools_in
from tokeneconomizer.hosts.codex.log_thread import TURN_STARTS
from tokeneconomizer.hosts.codex.outcomes import text_of
from tokeneconomizer.hosts.fields import count, flag, mapping, moment, objects, text
from tokeneconomizer.hosts.records import (
    LoggedCatalogue,
    LoggedCompaction,
    LoggedPrompt,
    LoggedSession,
    LoggedStop,
    LoggedSubAgent,
    LoggedWindow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.codex.log_state import RolloutState
    from tokeneconomizer.hosts.codex.log_thread import Thread
    from tokeneconomizer.hosts.records import LoggedTool, Record

RECORD_MARKERS: tuple[bytes, ...] = (b'"payload"', b'"role"', b"_call", b'"instructions"')
"""The first stands in each line with a wrapper: nearly all of them tell something."""

NOT_A_PROMPT_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<recommended_plugins>",
    "<permissions instructions>",
    "<hook_prompt",
    "<skill>",
    "# AGENTS.md instructions",
)
"""Texts in the user's name that nobody typed."""

TURN_ENDS = frozenset({"task_complete", "turn_complete"})

_STARTED = frozenset({"started"})
_ENDED = frozenset({"completed", "failed", "interrupted", "closed", "shutdown", "errored"})

_HASH_BYTES = 8
"""Enough to tell a prompt from the one before it."""


class RecordReader:
    """Folds the lines of one file into records."""

    def __init__(self, state: RolloutState, thread: Thread) -> None:
        self._state = state
        self._thread = thread
        self._calls = CallReader(state)

    def read(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return the records of a line."""
        payload, at = mapping(line, "payload"), moment(line, "timestamp")
        if "payload" not in line:
            return self._unwrapped(number, at, line)
        kind = text(line, "type")
        if kind == "session_meta":
            return self._header(number, at, payload)
        starts_turn = kind == "turn_context" or text(payload, "type") in TURN_STARTS
        if starts_turn:
            self._state.last_prompt = ""
        self._thread.take(text(payload, "turn_id") if starts_turn else "", count(line, "ordinal"), at)
        if self._state.is_copy:
            return []
        return self._with_session(number, at, self._of(kind, number, at, payload))

    def _header(self, number: int, at: datetime | None, header: Mapping[str, object]) -> list[Record]:
        """Return the session of a header, which was read for its tokens' sake, and the client's tools."""
        session: list[LoggedSession] = self._thread.session(number, at)
        offered = tools_in(header, "dynamic_tools")
        is_own = text(header, "id") == self._state.thread_id
        return [*session, *(self._catalogue(number, at, offered) if session and is_own else [])]

    def _unwrapped(self, number: int, at: datetime | None, line: Mapping[str, object]) -> list[Record]:
        """Read a line of 2025's first versions: a header without a type, and items of the conversation."""
        if not text(line, "type"):
            self._thread.open(line, text(line, "timestamp"))
            return list(self._thread.session(number, at))
        found: list[Record] = []
        if text(line, "type") == "message" and text(line, "role") == "user":
            self._state.last_prompt = ""
            found = self._prompt(number, at, text_of(line.get("content")))
        return self._with_session(number, at, found or self._calls.item(number, at, line))

    def _with_session(self, number: int, at: datetime | None, found: list[Record]) -> list[Record]:
        if not found:
            return []
        if not isinstance(found[0], LoggedPrompt):
            self._state.last_prompt = ""
        return [*self._thread.session(number, at), *found]

    def _of(self, kind: str, number: int, at: datetime | None, payload: Mapping[str, object]) -> list[Record]:
        match kind:
            case "response_item":
                return self._item(number, at, payload)
            case "event_msg":
                return self._event(number, at, payload)
            case "compacted":
                summary = text(payload, "message")
                agent_id = self._state.agent_id
                return [LoggedCompaction(number, at, "", summary_characters=len(summary), agent_id=agent_id)]
            case "inter_agent_communication_metadata":
                self._state.is_woken = flag(payload, "trigger_turn") is True
            case "world_state":
                removed = removed_in(mapping(mapping(payload, "state"), "top_level_tools"))
                return self._catalogue(number, at, (), removed)
        return []

    def _item(self, number: int, at: datetime | None, item: Mapping[str, object]) -> list[Record]:
        match text(item, "type"):
            case "agent_message":
                is_woken, self._state.is_woken = self._state.is_woken, False
                asked = text_of(item.get("content"))
                return self._prompt(number, at, asked, by_machine=True) if is_woken else []
            case "additional_tools":
                return self._catalogue(number, at, tools_in(item, "tools"))
            case "tool_search_output":
                found = self._catalogue(number, at, tools_in(item, "tools", is_found=True))
                return [*self._calls.item(number, at, item), *found]
            case _:
                return self._calls.item(number, at, item)

    def _event(self, number: int, at: datetime | None, event: Mapping[str, object]) -> list[Record]:
        state, kind = self._state, text(event, "type")
        found: list[Record] = []
        if kind in TURN_STARTS:
            state.error = ""
        elif kind == "error":
            state.error = _class_of(event.get("codex_error_info")) or kind
        elif kind in TURN_ENDS:
            found = [LoggedStop(number, at, state.error or "stop", state.agent_id)]
        elif kind == "turn_aborted":
            found = [LoggedStop(number, at, "no_stop", state.agent_id)]
        elif kind == "user_message":
            has_pictures = bool(event.get("images") or event.get("local_images"))
            found = self._prompt(number, at, text(event, "message"), has_pictures=has_pictures)
        elif kind == "token_count":
            found = self._window(number, at, mapping(event, "info"))
        elif kind == "item_completed":
            found = self._ended(number, at, mapping(event, "item"))
        else:
            found = self._ended(number, at, event)
        return found

    def _ended(self, number: int, at: datetime | None, told: Mapping[str, object]) -> list[Record]:
        """Read what came to an end: an item, or in older versions its event."""
        match text(told, "type"):
            case "UserMessage":
                parts = objects(told, "content")
                has_pictures = any("image" in text(part, "type") for part in parts)
                return self._prompt(number, at, text_of(parts), has_pictures=has_pictures)
            case "SubAgentActivity" | "sub_agent_activity":
                return self._activity(number, at, told)
            case _:
                return self._calls.ended(number, at, told)

    def _prompt(
        self,
        number: int,
        at: datetime | None,
        typed: str,
        *,
        has_pictures: bool = False,
        by_machine: bool = False,
    ) -> list[Record]:
        state = self._state
        if typed.startswith(NOT_A_PROMPT_PREFIXES) or not (typed.strip() or has_pictures):
            return []
        # Versions between the two ways write a prompt down in both.
        mark = blake2b(
            f"{state.turn_id} {typed}".encode(errors="replace"), digest_size=_HASH_BYTES
        ).hexdigest()
        if mark == state.last_prompt:
            return []
        is_first = not state.turn_id or state.turn_id != state.prompted_turn
        state.last_prompt, state.prompted_turn, state.is_step_open = mark, state.turn_id, False
        is_machine = by_machine or bool(state.agent_id)
        return [
            LoggedPrompt(
                line=number,
                at=at,
                prompt_id=state.turn_id if is_first else f"{state.turn_id} line {number}",
                text=typed,
                kind=PromptKind.MACHINE if is_machine else PromptKind.HUMAN,
                agent_id=state.agent_id,
                tools_named=() if is_machine else tools.tools_named_in(typed),
                skills_named=() if is_machine else tools.skills_named_in(typed),
            )
        ]

    def _window(self, number: int, at: datetime | None, info: Mapping[str, object]) -> list[Record]:
        used = count(mapping(info, "last_token_usage"), "total_tokens")
        size = count(info, "model_context_window")
        return [LoggedWindow(number, at, used, size, self._state.agent_id)] if used or size else []

    def _activity(self, number: int, at: datetime | None, told: Mapping[str, object]) -> list[Record]:
        """Return the start or the end of a sub-agent; other activities are neither."""
        kind, agent_id = text(told, "kind"), text(told, "agent_thread_id")
        if not agent_id or kind not in _STARTED | _ENDED:
            return []
        call_id = (text(told, "id") or text(told, "call_id")) if kind in _STARTED else ""
        return [LoggedSubAgent(number, at, agent_id, "", call_id, ended=kind in _ENDED)]

    def _catalogue(
        self, number: int, at: datetime | None, offered: tuple[LoggedTool, ...], removed: tuple[str, ...] = ()
    ) -> list[Record]:
        if not offered and not removed:
            return []
        return [LoggedCatalogue(number, at, offered, False, removed, agent_id=self._state.agent_id)]  # noqa: FBT003


def _class_of(error: object) -> str:
    """Return an error's class: a name, or the only key of an object."""
    if isinstance(error, dict):
        error = next(iter(error), "")
    return error if isinstance(error, str) else ""
