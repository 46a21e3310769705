"""
Whose lines a rollout holds: its own thread's, or copies of the thread that it came from.

The first header is the file's own; a sub-agent's names the main thread as its session. Where a fork or a
sub-agent begins with its parent's history, newer versions only refer to it, older ones copy its lines, the
parent's header among them, with the time of copying or the original time.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.fields import count, mapping, text, time_of
from tokeneconomizer.hosts.records import LoggedSession, SessionOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.codex.log_state import RolloutState

COPYING_SECONDS_MAX = 1
"""A copied history is written in one go; a person's first prompt comes seconds later."""

TURN_STARTS = frozenset({"task_started", "turn_started"})

_THREAD_IN_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_TIME_IN_ID = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
"""Ids of UUID version 7 begin with the time at which they were made."""


def thread_in_name(path: str) -> str:
    """Return the thread that a file's name tells, so that a lost header is no other thread's."""
    found = _THREAD_IN_NAME.search(Path(path).stem)
    return found.group() if found else ""


def _time_in(made_id: str) -> str:
    found = _TIME_IN_ID.match(made_id)
    return found.group(1) if found else ""


class Thread:
    """Reads headers, and tells copied lines from own ones."""

    def __init__(self, state: RolloutState) -> None:
        self._state = state

    def open(self, header: Mapping[str, object], written_at: str) -> None:
        """Take a header in; the file's own is repeated as the session goes on, and then tells nothing new."""
        state, thread_id = self._state, text(header, "id")
        if not thread_id:
            return
        state.thread_id = state.thread_id or thread_id
        state.started_at = state.started_at or written_at
        if thread_id != state.thread_id:
            self._begin_copy(thread_id)
        elif not state.is_open:
            state.is_open = True
            self._place(header)
            self._describe(header)

    def _begin_copy(self, parent: str) -> None:
        self._state.is_copy = True
        if self._state.origin is SessionOrigin.NEW:
            self._state.origin, self._state.parent = SessionOrigin.FORK, parent

    def _place(self, header: Mapping[str, object]) -> None:
        state = self._state
        sources = mapping(header, "source")
        spawned = mapping(mapping(sources, "subagent"), "thread_spawn")
        asked_by = text(header, "parent_thread_id") or text(spawned, "parent_thread_id")
        forked_from = text(header, "forked_from_id")
        named = text(header, "session_id")
        state.session_id = named if named not in {"", state.thread_id} else asked_by or state.thread_id
        if asked_by or "subagent" in sources:
            state.origin = SessionOrigin.SUB_AGENT
            state.parent = state.session_id if state.agent_id else forked_from
            state.agent_type = text(header, "agent_role") or text(spawned, "agent_role")
            state.agent_type = state.agent_type or text(sources, "subagent")
        elif forked_from:
            state.origin, state.parent = SessionOrigin.FORK, forked_from
        state.first_own_ordinal = count(header, "subagent_history_start_ordinal") or 0
        is_referred_to = bool(mapping(header, "history_base"))
        state.is_copy = bool(state.first_own_ordinal or (forked_from and not is_referred_to))

    def _describe(self, header: Mapping[str, object]) -> None:
        state = self._state
        state.folder = text(header, "cwd")
        state.repository_url = text(mapping(header, "git"), "repository_url")
        state.version = text(header, "cli_version")
        state.provider = text(header, "model_provider")

    def take(self, started_turn: str, ordinal: int | None, at: datetime | None) -> None:
        """Decide whether a line is a copy; `started_turn` is set on lines that start a turn."""
        state = self._state
        if not state.is_copy and not started_turn:
            return
        if not state.started_at and at is not None:
            state.started_at = at.isoformat()
        if state.first_own_ordinal and ordinal is not None:
            state.is_copy = ordinal < state.first_own_ordinal
        elif (began := _time_in(started_turn)) and (created := _time_in(state.thread_id)):
            # No turn is older than its thread: true also where damage took both headers.
            state.is_copy = began < created
            state.has_copied_turn_ids = True
        elif state.is_copy and not state.has_copied_turn_ids:
            state.is_copy = not self._is_past_copying(at)

    def _is_past_copying(self, at: datetime | None) -> bool:
        started_at = time_of(self._state.started_at)
        if at is None or started_at is None:
            return False
        return at - started_at > timedelta(seconds=COPYING_SECONDS_MAX)

    def session(self, number: int, at: datetime | None) -> list[LoggedSession]:
        """Return the session, if it is another than was told before."""
        state = self._state
        told = [
            state.session_id or state.thread_id,
            state.origin.value,
            state.parent,
            state.agent_id,
            state.agent_type,
            state.folder,
            state.repository_url,
            state.version,
        ]
        if told == state.told or not told[0]:
            return []
        state.told = told
        return [LoggedSession(number, at, told[0], state.origin, *told[2:])]
