"""Copilot CLI's events, read one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokeneconomizer.hosts.copilot.log_events import records_of
from tokeneconomizer.hosts.copilot.log_tokens import TokenReader
from tokeneconomizer.hosts.fields import mapping, moment, text, whole_number
from tokeneconomizer.hosts.log_format import Wanted
from tokeneconomizer.hosts.log_lines import read_lines
from tokeneconomizer.hosts.records import LoggedPrompt, LoggedSession, SessionOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from tokeneconomizer.hosts.log_format import Batch, Cursor, State
    from tokeneconomizer.hosts.records import Record

_NAMES_SESSION = frozenset({"session.start", "session.resume", "session.context_changed"})


def read_all(path: str, session_id: str, cursor: Cursor | None) -> Iterator[Batch]:
    """Yield what is new in a file; see `hosts.log_format.LogFormat.read`."""
    return read_lines(path, lambda state: EventReader(session_id, state), cursor, Wanted.ALL)


class EventReader(TokenReader):
    """Reads all other records as well."""

    RECORD_MARKERS: tuple[bytes, ...] = (
        *TokenReader.USAGE_MARKERS,
        b'"user.message"',
        b'"userPromptSubmitted"',
        b'"assistant.message"',
        b'"tool.execution_complete"',
        b'"subagent.',
        b'"abort"',
    )

    def __init__(self, session_id: str, state: State) -> None:
        super().__init__(session_id, state)
        self._repository_url = str(state.get("repository_url") or "")
        self._version = str(state.get("version") or "")
        self._parent = str(state.get("parent") or "")
        self._is_told = bool(state.get("told"))
        self._prompt_id = str(state.get("prompt") or "")

    def state(self) -> State:
        """Return what the next line needs."""
        return {
            **super().state(),
            "repository_url": self._repository_url,
            "version": self._version,
            "parent": self._parent,
            "told": self._is_told,
            "prompt": self._prompt_id,
        }

    def records(self, number: int, line: Mapping[str, object]) -> list[Record]:
        """Return what an event tells besides tokens."""
        data = mapping(line, "data")
        if text(line, "type") in _NAMES_SESSION:
            self._learn(data, mapping(data, "context") or data)
            return [self._session(number, moment(line, "timestamp"))]
        self._prompt_id = prompt_id_in(line) or self._prompt_id
        found = [self._with_hooks_id(record) for record in records_of(number, line)]
        if found and not self._is_told:
            return [self._session(number, moment(line, "timestamp")), *found]
        return found

    def _with_hooks_id(self, record: Record) -> Record:
        """Return a prompt under the id that its hook was stored with, if there was one."""
        if not isinstance(record, LoggedPrompt) or record.agent_id or not self._prompt_id:
            return record
        prompt_id, self._prompt_id = self._prompt_id, ""
        return replace(record, prompt_id=prompt_id)

    def _learn(self, data: Mapping[str, object], context: Mapping[str, object]) -> None:
        self._version = text(data, "copilotVersion") or self._version
        self._parent = text(data, "detachedFromSpawningParentSessionId") or self._parent
        if text(context, "cwd"):
            self._repository_url = _repository_url(context)

    def _session(self, number: int, at: datetime | None) -> LoggedSession:
        self._is_told = True
        return LoggedSession(
            line=number,
            at=at,
            session_id=self._session_id,
            origin=SessionOrigin.SUB_AGENT if self._parent else SessionOrigin.NEW,
            parent=self._parent,
            folder=self._folder,
            repository_url=self._repository_url,
            version=self._version,
        )


def prompt_id_in(line: Mapping[str, object]) -> str:
    """Return the id of the prompt of which a hook's event tells: the hook's time, as in its payload."""
    data = mapping(line, "data")
    if text(data, "hookType") != "userPromptSubmitted" or text(line, "agentId"):
        return ""
    told_at = whole_number(mapping(data, "input"), "timestamp")
    return "" if told_at is None else str(told_at)


def _repository_url(context: Mapping[str, object]) -> str:
    """Return the remote's URL; 1.0.20 and older name no host, so that there is none to build it of."""
    host, repository = text(context, "repositoryHost"), text(context, "repository")
    is_github = text(context, "hostType") in {"", "github"}
    return f"https://{host}/{repository}" if host and repository and is_github else ""
