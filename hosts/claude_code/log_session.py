"""Which session a file of Claude Code's is of: named by its lines, else by where the file lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from tokeneconomizer.hosts.fields import objects, text
from tokeneconomizer.hosts.records import LoggedSession, LoggedSubAgent, SessionOrigin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from tokeneconomizer.hosts.log_format import State
    from tokeneconomizer.hosts.records import Record

AGENT_PREFIX = "agent-"
"""How the name of a sub-agent's file begins; it lies in `<session>/subagents/`, once elsewhere."""

SUB_AGENTS_FOLDER = "subagents"

META_BYTES_MAX = 65_536
"""What stands beside a sub-agent's file is a few hundred bytes."""


@dataclass(frozen=True, slots=True)
class FileNames:
    """
    What a file's place says.

    Attributes:
        session_id: of the lines that name none.
        agent_id: of the sub-agent whose file it is, else empty.

    """

    session_id: str
    agent_id: str


def names_of(path: Path) -> FileNames:
    """Return what a file's place says."""
    if not path.stem.startswith(AGENT_PREFIX):
        return FileNames(path.stem, "")
    sessions = (folder.parent.name for folder in path.parents if folder.name == SUB_AGENTS_FOLDER)
    return FileNames(next(sessions, path.stem), path.stem.removeprefix(AGENT_PREFIX))


def meta_of(path: Path) -> tuple[str, str]:
    """Return a sub-agent's type and the call that asked for it, as the file beside its log tells."""
    try:
        with path.with_suffix(".meta.json").open("rb") as file:
            meta = orjson.loads(file.read(META_BYTES_MAX))
    except (OSError, orjson.JSONDecodeError):
        return "", ""
    return (text(meta, "agentType"), text(meta, "toolUseId")) if isinstance(meta, dict) else ("", "")


class SessionReader:
    """Tells the session before its first record, and again when it changed."""

    def __init__(self, names: FileNames, meta: tuple[str, str], state: State) -> None:
        self.agent_id = names.agent_id
        self._session_id = names.session_id
        self._agent_type, self._call_id = meta
        self._origin = str(state.get("origin") or SessionOrigin.NEW)
        self._parent = str(state.get("parent") or "")
        told = state.get("told")
        self._told = tuple(told) if isinstance(told, list) else None

    def state(self) -> State:
        """Return what the next line needs."""
        told = list(self._told) if self._told else None
        return {"origin": self._origin, "parent": self._parent, "told": told}

    def read(
        self, number: int, at: datetime | None, line: Mapping[str, object], *, copied_from: str, is_copy: bool
    ) -> Iterator[Record]:
        """
        Yield the session of a line when it has to be told.

        The folder moves with each `cd`, in the middle of a step as well: it is told again with a prompt.
        """
        if is_copy:
            self._origin, self._parent = SessionOrigin.FORK, copied_from or self._parent
        session_id = text(line, "sessionId") or self._session_id
        lasting = (session_id, self._origin, self._parent)
        told = (*lasting, self._agent_type, text(line, "cwd"), text(line, "version"))
        before = self._told
        if told == before or (before is not None and before[:3] == lasting and not _may_move(line)):
            return
        self._told = told
        yield LoggedSession(
            line=number,
            at=at,
            session_id=session_id,
            origin=SessionOrigin.SUB_AGENT if self.agent_id else SessionOrigin(self._origin),
            parent=session_id if self.agent_id else self._parent,
            agent_id=self.agent_id,
            agent_type=self._agent_type,
            folder=text(line, "cwd"),
            version=text(line, "version"),
        )
        if before is None and self.agent_id:
            yield LoggedSubAgent(number, at, self.agent_id, self._agent_type, self._call_id)


def _may_move(line: Mapping[str, object]) -> bool:
    """Return whether a line stands between steps: a user line without results, of the main agent."""
    if text(line, "type") != "user" or line.get("isSidechain") is True:
        return False
    message = line.get("message")
    blocks = objects(message, "content") if isinstance(message, dict) else []
    return not any(text(block, "type") == "tool_result" for block in blocks)
